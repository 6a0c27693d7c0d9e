//! Setters of builders, a line each: `/// What it does.` and `path.to.field: Type`. The setter has the name of the field.

/// Writes setters inside an `impl`.
macro_rules! setters {
    ($($(#[$doc:meta])* $($path:ident).+: $type:ty,)+) => {
        $($crate::setters!(@one [$(#[$doc])*] [$($path).+] [$($path)+] $type);)+
    };
    // The last name of the path is the field's.
    (@one [$($doc:tt)*] [$($path:tt)+] [$skipped:ident $($rest:ident)+] $type:ty) => {
        $crate::setters!(@one [$($doc)*] [$($path)+] [$($rest)+] $type);
    };
    (@one [$($doc:tt)*] [$($path:tt)+] [$name:ident] $type:ty) => {
        $($doc)*
        pub fn $name(mut self, $name: $type) -> Self {
            self.$($path)+ = $name;
            self
        }
    };
}
pub(crate) use setters;
