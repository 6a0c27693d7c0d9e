// The data of a map, read from the text in the page: base64, gzip, a JSON header and typed arrays.
// Written by crates/gromap-report/src/payload.rs, which says how it is laid out.

export interface MapData {
  version: string;
  title: string;
  samples: number;
  classes: { names: string[]; of: Uint32Array } | null;
  columns: Column[];
  ids: string[] | null;
  /** Weights of the samples; null when they are all the same. */
  weights: Float64Array | null;
  features: string[] | null;
  palette: string[];
  plain: string;
  pictures: Pictures | null;
  silhouetteOf: "classes" | "members";
  /** Which features every level has means of, the most telling first, and how much of each lies between prototypes. */
  telling: { columns: Uint32Array; explained: Float32Array | null } | null;
  levels: Level[];
  /** From each level to the next. */
  lineage: Links[];
  parameters: [string, string][];
  /** More about how the map was made: names and values. */
  facts: [string, string][];
  /** Whether the samples are the nodes of a graph. */
  graph: boolean;
  hash: string | null;
}

export interface Column {
  name: string;
  numbers?: Float64Array;
  text?: string[];
}

export interface Pictures {
  width: number;
  height: number;
  channels: number;
  pixels: Uint8Array;
  /** Whose the pictures are, ascending; null when every sample has one. */
  of: Uint32Array | null;
  meanWidth: number;
  meanHeight: number;
}

export interface Level {
  prototypes: number;
  dims: number;
  places: Float64Array;
  weights: Float64Array;
  offsets: Uint32Array;
  members: Uint32Array;
  shares: Float32Array | null;
  /** A place for every sample, in steps from a lowest value on each axis; null where they have none of their own. */
  samplePlaces: { low: number[]; step: number[]; at: Uint16Array } | null;
  /** Means of the telling features, prototype by prototype. */
  features: Float32Array | null;
  /** Given names of the prototypes, and numbers of each. */
  names: string[] | null;
  numbers: { name: string; values: Float64Array }[];
  ordered: boolean;
  hardness: Float32Array;
  classes: { offsets: Uint32Array; of: Uint32Array; share: Float32Array } | null;
  means: Uint8Array | null;
  profiles: Profiles | null;
  history: Float64Array;
  loss: number | null;
  stop: string;
  silhouette: number | null;
  homogeneity: number | null;
  warnings: string[];
  /** The strongest links between prototypes, by their share of all similarity or edges; null without. */
  links: { from: Uint32Array; to: Uint32Array; share: Float32Array } | null;
}

export interface Profiles {
  bins: number;
  bars: Float32Array;
  perPrototype: number;
  feature: Uint32Array;
  value: Float32Array;
  score: Float32Array;
}

export interface Links {
  from: Uint32Array;
  to: Uint32Array;
  mass: Float32Array;
}

const TYPES = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f32: Float32Array, f64: Float64Array } as const;

interface ArrayReference {
  type: keyof typeof TYPES;
  at: number;
  length: number;
}

/** Reads the payload of a page. */
export async function decode(text: string): Promise<MapData> {
  const bytes = await inflated(fromBase64(text.trim()));
  const length = new DataView(bytes).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
  if (header.format !== 1) throw new Error(`this page cannot read maps of format ${header.format}`);
  return withArrays(header, bytes, 4 + length) as MapData;
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

function inflated(bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/** The header with its references replaced by the arrays they stand for. Names of samples are left as they are. */
function withArrays(value: unknown, bytes: ArrayBuffer, start: number): unknown {
  if (Array.isArray(value)) {
    const holdsText = typeof value[0] === "string" || typeof value[0] === "number";
    return holdsText ? value : value.map((entry) => withArrays(entry, bytes, start));
  }
  if (value === null || typeof value !== "object") return value;
  const { type, at, length } = value as ArrayReference;
  if (type in TYPES && typeof at === "number") return new TYPES[type](bytes, start + at, length);
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, withArrays(entry, bytes, start)]));
}

/** Name of a sample. */
export function idOf(data: MapData, sample: number): string {
  return data.ids ? data.ids[sample] : String(sample);
}

export function membersOf(level: Level, k: number): Uint32Array {
  return level.members.subarray(level.offsets[k], level.offsets[k + 1]);
}

/** Classes of a prototype with their share of its weight, the largest first. */
export function classesOf(level: Level, k: number): { of: number; share: number }[] {
  const { classes } = level;
  if (!classes) return [];
  const found = [];
  for (let i = classes.offsets[k]; i < classes.offsets[k + 1]; i++) found.push({ of: classes.of[i], share: classes.share[i] });
  return found;
}

/** The largest class of a prototype, or null without classes. */
export function majority(level: Level, k: number): number | null {
  return level.classes && level.classes.offsets[k + 1] > level.classes.offsets[k] ? level.classes.of[level.classes.offsets[k]] : null;
}

/** The share of its largest class. */
export function purity(level: Level, k: number): number {
  return level.classes && level.classes.offsets[k + 1] > level.classes.offsets[k] ? level.classes.share[level.classes.offsets[k]] : NaN;
}

/** The mean of a column over the members of each prototype, without missing values, by mass. */
export function columnMeans(data: MapData, level: Level, values: Float64Array): Float64Array {
  const means = new Float64Array(level.prototypes);
  for (let k = 0; k < level.prototypes; k++) {
    let [sum, whole] = [0, 0];
    for (let i = level.offsets[k]; i < level.offsets[k + 1]; i++) {
      const sample = level.members[i];
      const value = values[sample];
      if (!Number.isFinite(value)) continue;
      const mass = (level.shares ? level.shares[i] : 1) * (data.weights ? data.weights[sample] : 1);
      sum += mass * value;
      whole += mass;
    }
    means[k] = whole > 0 ? sum / whole : NaN;
  }
  return means;
}

/** The prototype that each sample belongs to, the one with the larger share. */
export function labelsOf(data: MapData, level: Level): Uint32Array {
  const labels = new Uint32Array(data.samples);
  const most = level.shares ? new Float32Array(data.samples) : null;
  for (let k = 0; k < level.prototypes; k++) {
    for (let i = level.offsets[k]; i < level.offsets[k + 1]; i++) {
      const sample = level.members[i];
      if (most && level.shares![i] <= most[sample]) continue;
      if (most) most[sample] = level.shares![i];
      labels[sample] = k;
    }
  }
  return labels;
}

/** A coordinate of a sample's own place; axes that the map does not have are zero. */
export function samplePlace(level: Level, sample: number, axis: number): number {
  const { low, step, at } = level.samplePlaces!;
  return axis < level.dims ? low[axis] + step[axis] * at[sample * level.dims + axis] : 0;
}

/** The name of a telling feature. */
export function featureName(data: MapData, column: number): string {
  return data.features ? data.features[column] : `feature ${column}`;
}

/** Where the picture of a sample begins among all pixels, or -1 when it has none in this file. */
export function pictureAt(pictures: Pictures, sample: number): number {
  const size = pictures.width * pictures.height * pictures.channels;
  if (!pictures.of) return sample * size;
  let [low, high] = [0, pictures.of.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (pictures.of[middle] === sample) return middle * size;
    if (pictures.of[middle] < sample) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}
