//! The page: styles, viewer and data in one file, under a policy that lets nothing be fetched.

/// Built from `viewer/` by `npm run build` there.
const SCRIPT: &str = include_str!("../assets/viewer.js");
const STYLES: &str = include_str!("../assets/viewer.css");

/// No network at all: the page brings its code and styles, and pictures come from memory.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";

/// One HTML file.
pub(crate) fn html(title: &str, data: &str) -> String {
    let title = escaped(title);
    format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="gromap {version}">
<title>{title}</title>
<style>{STYLES}</style>
</head>
<body>
<main id="gromap" aria-label="Map of weighted prototypes"><noscript>This map needs JavaScript; it fetches nothing.</noscript></main>
<script id="gromap-data" type="application/octet-stream">{data}</script>
<script>{SCRIPT}</script>
</body>
</html>
"#,
        version = env!("CARGO_PKG_VERSION"),
    )
}

/// One HTML file without a script: a picture and what is said of it.
pub(crate) fn static_html(title: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="gromap {version}">
<title>{title}</title>
<style>
body {{ margin: 0 auto; max-width: 72rem; padding: 0 1rem 2rem; font: 14px/1.5 Inter, system-ui, sans-serif; color: #23262d; background: #fff; }}
svg {{ display: block; max-width: 100%; height: auto; }}
h2 {{ font-size: 15px; margin: 1.5rem 0 0.25rem 24px; }}
table {{ border-collapse: collapse; margin-left: 24px; }}
th, td {{ text-align: left; vertical-align: top; padding: 0.15rem 1.2rem 0.15rem 0; border-bottom: 1px solid #e5e7eb; }}
th {{ font-weight: 600; color: #6b7280; }}
td {{ overflow-wrap: anywhere; }}
</style>
</head>
<body>
{body}</body>
</html>
"#,
        version = env!("CARGO_PKG_VERSION"),
    )
}

/// Text that can stand in HTML and XML, between tags and in quoted attributes. Characters that XML has no
/// place for become U+FFFD.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(escaped("</script><img src=x onerror='a()'>&\"\u{0}\n"), {
            "&lt;/script&gt;&lt;img src=x onerror=&#39;a()&#39;&gt;&amp;&quot;\u{fffd} "
        });
    }

    #[test]
    fn the_viewer_cannot_end_its_own_script() {
        assert!(!SCRIPT.to_lowercase().contains("</script") && !SCRIPT.contains("<!--"));
        assert!(!STYLES.to_lowercase().contains("</style"));
    }
}
