/** What the table of an encoding is made of: the byte sequences to decode, in the order of their pointers. */
interface Sequences {
  leads: readonly (readonly [first: number, last: number])[];
  trails: readonly (readonly [first: number, last: number])[];
  /** Characters of which the last sequence counts, not the first. */
  last?: string;
}

const allTrails = [[0x40, 0xfe]] as const;

/** Encodings of more than one byte; lead bytes their encoders never write are left out (WHATWG Encoding 5, `index`). */
const sequences: Record<string, Sequences> = {
  gbk: { leads: [[0x81, 0xfe]], trails: allTrails },
  gb18030: { leads: [[0x81, 0xfe]], trails: allTrails },
  big5: { leads: [[0xa1, 0xfe]], trails: allTrails, last: '═╞╡╪十卅' },
  'euc-kr': { leads: [[0x81, 0xfe]], trails: [[0x41, 0xfe]] },
  'euc-jp': {
    leads: [
      [0x8e, 0x8e],
      [0xa1, 0xfe],
    ],
    trails: [[0xa1, 0xfe]],
  },
  shift_jis: {
    leads: [
      [0x81, 0x9f],
      [0xe0, 0xec],
      [0xef, 0xfc],
    ],
    trails: allTrails,
  },
};

const range = ([first, last]: readonly [number, number]) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

/** Asks a decoder what sequences stand for, many at a time. @param each may not hold a line feed */
function decodeAll(decoder: InstanceType<typeof TextDecoder>, each: readonly number[][]): (string | null)[] {
  const texts = decoder.decode(Uint8Array.from(each.flatMap((bytes) => [...bytes, 0x0a]))).split('\n');
  return each.map((_, at) => {
    const [first, ...more] = texts[at] ?? '';
    return first === undefined || more.length > 0 || first === '\ufffd' ? null : first;
  });
}

/** Four bytes of gb18030, where those of a line feed are none of them; of a pointer (WHATWG Encoding 10.2). */
const fourBytes = (pointer: number) => [
  0x81 + Math.floor(pointer / 12_600),
  0x30 + (Math.floor(pointer / 1_260) % 10),
  0x81 + (Math.floor(pointer / 10) % 126),
  0x30 + (pointer % 10),
];
/** Of the Basic Multilingual Plane. */
const fourBytePointers = 39_420;
/** Of the first character beyond it. */
const beyondPlane = 189_000;

function tableOf(encoding: string): Map<string, Uint8Array> {
  const decoder = new TextDecoder(encoding);
  const table = new Map<string, Uint8Array>();
  const { leads = [], trails = [], last = '' } = sequences[encoding] ?? {};
  const take = (each: readonly number[][]) => {
    for (const [at, character] of decodeAll(decoder, each).entries())
      if (character !== null && (!table.has(character) || last.includes(character)))
        table.set(character, Uint8Array.from(each[at] ?? []));
  };
  take(range([0x80, 0xff]).map((byte) => [byte]));
  const seconds = trails.flatMap(range);
  for (const lead of leads.flatMap(range)) take(seconds.map((trail) => [lead, trail]));
  if (encoding === 'gb18030') take(range([0, fourBytePointers - 1]).map(fourBytes));
  return table;
}

const tables = new Map<string, Map<string, Uint8Array>>();

/**
 * The bytes of a character in an encoding, beside ASCII: its decoder turned round.
 * @param encoding as `TextDecoder` names it
 * @returns undefined for a character the encoding does not have
 */
function legacyBytes(encoding: string, character: string): Uint8Array | undefined {
  const table = tables.get(encoding) ?? tableOf(encoding);
  tables.set(encoding, table);
  const code = character.codePointAt(0) ?? 0;
  if (encoding === 'gb18030' && code > 0xffff) return Uint8Array.from(fourBytes(beyondPlane + code - 0x10000));
  return table.get(character);
}

/** Written as they are where they stand in a query (WHATWG URL 1.3, special-query percent-encode set). */
const plain = /[!$%&()*+,\-./0-9:;=?@A-Z[\\\]^_`a-z{|}~]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: all but ASCII is what is meant
const foreign = /[^\u0000-\u007f]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: all but ASCII is what is meant
const foreigners = /[^\u0000-\u007f]+/gu;

const escaped = (bytes: Iterable<number>): string =>
  Array.from(bytes, (byte) => {
    const character = String.fromCharCode(byte);
    return plain.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }).join('');

/** What an encoding has no bytes for is named by its number, as a form would. */
const named = (character: string) => `%26%23${character.codePointAt(0)}%3B`;

const writtenIn = (encoding: string, text: string): string =>
  Array.from(text, (character) => {
    const bytes = legacyBytes(encoding, character);
    return bytes ? escaped(bytes) : named(character);
  }).join('');

/** ISO-2022-JP shifts to two-byte characters, which are those of EUC-JP without their highest bits, and back. */
function shifted(text: string): string {
  let [written, isShifted] = ['', false];
  const shift = (to: boolean) => {
    if (isShifted !== to) written += to ? '%1B$B' : '%1B(B';
    isShifted = to;
  };
  for (const character of text) {
    const bytes = legacyBytes('euc-jp', character);
    const isTwo = bytes?.length === 2 && bytes[0] !== 0x8e;
    shift(isTwo);
    written += isTwo ? escaped(bytes.map((byte) => byte & 0x7f)) : named(character);
  }
  shift(false);
  return written;
}

/** In which encoding a document of another writes queries (WHATWG Encoding 4.3); null: UTF-8. */
function outputEncoding(label: string | null): string | null {
  if (label === null) return null;
  try {
    const { encoding } = new TextDecoder(label);
    return /^utf-|^replacement$/.test(encoding) ? null : encoding;
  } catch {
    return null;
  }
}

/**
 * A link with its query as a document in an older encoding sends it: servers of such sites expect its bytes there, not those of UTF-8
 * (WHATWG URL 4.4, query state). Everything else of the link stays.
 * @param label of the document's encoding; null, or an unknown one, is UTF-8
 */
export function encodeQuery(link: string, label: string | null): string {
  const at = link.indexOf('?');
  if (at < 0 || !foreign.test(link)) return link;
  const encoding = outputEncoding(label);
  if (encoding === null) return link;
  const hash = link.indexOf('#');
  if (hash >= 0 && hash < at) return link;
  const end = hash < 0 ? link.length : hash;
  const query = link.slice(at, end).toWellFormed();
  const write = encoding === 'iso-2022-jp' ? shifted : (text: string) => writtenIn(encoding, text);
  return link.slice(0, at) + query.replace(foreigners, write) + link.slice(end);
}
