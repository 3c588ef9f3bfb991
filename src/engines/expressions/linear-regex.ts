import { RE2JS } from 're2js';

/**
 * The part of `RegExp` that JSONata uses, on an engine whose time is linear in the text. JSONata hands over the `RegExp` it has read a
 * literal as, which it never runs itself.
 * @throws SyntaxError for what RE2 has not (look-around, back references)
 */
export class LinearRegex {
  readonly source: string;
  lastIndex = 0;
  readonly #compiled: RE2JS;

  constructor({ source, flags }: RegExp) {
    this.source = source;
    const options = (flags.includes('i') ? RE2JS.CASE_INSENSITIVE : 0) | (flags.includes('m') ? RE2JS.MULTILINE : 0);
    try {
      this.#compiled = RE2JS.compile(RE2JS.translateRegExp(source), options);
    } catch (cause) {
      throw new SyntaxError(`the pattern /${source}/ cannot be used: ${(cause as Error).message}`, { cause });
    }
  }

  /** The next match at or after `lastIndex`, which moves behind it; null and 0 when there is none (ECMA-262 22.2.7.2, global). */
  exec(text: string): (string[] & { index: number }) | null {
    const matcher = this.#compiled.matcher(text);
    if (this.lastIndex > text.length || !matcher.find(this.lastIndex)) {
      this.lastIndex = 0;
      return null;
    }
    const groups = Array.from({ length: matcher.groupCount() + 1 }, (_, group) => matcher.group(group) ?? '');
    this.lastIndex = matcher.end();
    return Object.assign(groups, { index: matcher.start() });
  }
}
