import { limits, type Reading } from '../values.ts';
import { readSimpleYaml } from './read-simple.ts';
import { readYaml } from './read-yaml.ts';

const signs = new Set([...'\n,[{?&*!'].map((sign) => sign.charCodeAt(0)));
const dash = '-'.charCodeAt(0);

/**
 * Offset of the first sign too many of what a library makes nodes of: line ends, dashes of lists, commas, brackets, anchors. What a
 * text costs grows with their number, not with its length.
 * @returns undefined when there are no more than `most`
 */
export function signBeyond(source: string, most: number): number | undefined {
  let count = 0;
  for (let at = 0; at < source.length; at += 1) {
    const code = source.charCodeAt(at);
    if (!signs.has(code) && !(code === dash && source[at + 1] === ' ')) continue;
    count += 1;
    if (count > most) return at;
  }
  return undefined;
}

/**
 * Reads the text of a YAML block. What is not of the simple kind is read within bounds: the library takes 700 ms for 256 KiB of the shortest
 * values. No frontmatter of people comes near: a block full of prose has some 10,000 lines and commas.
 */
export function readYamlBlock(source: string): Reading {
  const simple = readSimpleYaml(source);
  if (simple !== undefined) return simple;
  const offset = signBeyond(source, limits.yamlSigns);
  if (offset === undefined) return readYaml(source);
  return { ok: false, message: `more than ${limits.yamlSigns} lines, dashes, commas and brackets`, offset };
}
