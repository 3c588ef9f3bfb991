const space = '\\t\\n\\f\\r ';
const comment = /<!--(?:-?>|[\s\S]*?(?:-->|$))/y;
const tagName = new RegExp(`<(/?[a-z][^${space}/>]*)`, 'iy');
const other = /<[!/?][^>]*>/y;
const attribute = new RegExp(
  `[${space}/]*([^${space}/>][^${space}/>=]*)(?:[${space}]*=[${space}]*(?:"([^"]*)"|'([^']*)'|([^${space}>]*)))?`,
  'y',
);

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** The attributes of a tag from `at` on, the first of a name, and where they end. */
function attributesAt(text: string, at: number): { attributes: Map<string, string>; end: number } {
  const attributes = new Map<string, string>();
  let end = at;
  for (let found = matchAt(attribute, text, end); found; found = matchAt(attribute, text, end)) {
    end = attribute.lastIndex;
    const [, name = '', double, single, bare] = found;
    const key = name.toLowerCase();
    if (!attributes.has(key)) attributes.set(key, double ?? single ?? bare ?? '');
  }
  return { attributes, end };
}

const inContent = /charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|([^\t\n\f\r ;]+))/i;

function labelOf(attributes: ReadonlyMap<string, string>): string | null {
  const charset = attributes.get('charset');
  if (charset !== undefined) return charset;
  if (attributes.get('http-equiv')?.toLowerCase() !== 'content-type') return null;
  const [, double, single, bare] = inContent.exec(attributes.get('content') ?? '') ?? [];
  return double ?? single ?? bare ?? null;
}

/**
 * Looks for the encoding a `meta` names, before the page is read as text (HTML 13.2.3.2, "prescan").
 * @param beginning the first 1,024 bytes, a character each
 */
export function prescan(beginning: string): string | null {
  for (let at = beginning.indexOf('<'); at !== -1; at = beginning.indexOf('<', at)) {
    const skipped = matchAt(comment, beginning, at);
    const tag = skipped ? null : matchAt(tagName, beginning, at);
    if (tag) {
      const { attributes, end } = attributesAt(beginning, tagName.lastIndex);
      // A tag that goes on beyond does not count: half a label is another one.
      if (end >= beginning.length) return null;
      const label = tag[1]?.toLowerCase() === 'meta' ? labelOf(attributes) : null;
      if (label !== null) return label;
      at = end;
    } else {
      at += skipped?.[0].length ?? matchAt(other, beginning, at)?.[0].length ?? 1;
    }
  }
  return null;
}
