import { entriesOf, itemsOf, placeOf, property, textOf, textsOf, type Value } from '../../schema/static/values.ts';
import type { RouteContext } from './route-rule.ts';

/** Settings of a configuration; one that is set but cannot be determined is counted and named in the warnings. */
export class Settings {
  readonly value: Value | undefined;
  readonly path: string;
  readonly #reading: RouteContext;
  readonly #ignoreCase: boolean;
  readonly #unknown = new Set<string>();

  /** @param ignoreCase keys are written in any case, as Hugo's are */
  constructor(value: Value | null | undefined, path: string, reading: RouteContext, ignoreCase = false) {
    this.value = value ?? undefined;
    this.path = path;
    this.#reading = reading;
    this.#ignoreCase = ignoreCase;
    if (value && value.kind !== 'record' && value.kind !== 'scalar') this.warn('configuration', value);
  }

  /** How many settings could not be determined. */
  get unknown(): number {
    return this.#unknown.size;
  }

  /** The value at a path of keys; undefined when it is absent or not known. */
  at(...keys: string[]): Value | undefined {
    let current = this.value;
    for (const key of keys) {
      current = this.#member(current, key);
      if (current?.kind === 'unknown') {
        this.warn(keys.join('.'), current);
        return undefined;
      }
    }
    return current?.kind === 'scalar' && (current.value ?? undefined) === undefined ? undefined : current;
  }

  text(...keys: string[]): string | undefined {
    return this.#expect(textOf(this.at(...keys)), keys);
  }

  flag(...keys: string[]): boolean | undefined {
    const value = this.at(...keys);
    const flag = value?.kind === 'scalar' && typeof value.value === 'boolean' ? value.value : undefined;
    return this.#expect(flag, keys);
  }

  texts(...keys: string[]): string[] {
    return textsOf(this.at(...keys));
  }

  items(...keys: string[]): readonly Value[] {
    return itemsOf(this.at(...keys));
  }

  entries(...keys: string[]): [string, Value][] {
    return entriesOf(keys.length === 0 ? this.value : this.at(...keys));
  }

  /** The first of these settings, `a.b` for one inside another, or the configuration as a whole, that could not be determined; null: none of them. */
  firstUnknown(...names: string[]): string | null {
    return ['configuration', ...names].find((name) => this.#unknown.has(name)) ?? null;
  }

  /** Warns that a setting could not be determined. */
  warn(name: string, value?: Value): void {
    if (this.#unknown.has(name)) return;
    this.#unknown.add(name);
    const place = value ? placeOf(value, { path: this.path, line: 1 }) : { path: this.path };
    const reason = value?.kind === 'unknown' ? `: ${value.reason}` : '';
    this.#reading.warnings.push({
      code: 'setting_unknown',
      message: `"${name}" cannot be determined${reason}`,
      ...place,
    });
  }

  #member(value: Value | undefined, key: string): Value | undefined {
    if (value?.kind !== 'record') return undefined;
    if (!this.#ignoreCase) return property(value, key);
    return entriesOf(value).find(([name]) => name.toLowerCase() === key.toLowerCase())?.[1];
  }

  #expect<T>(found: T | undefined, keys: readonly string[]): T | undefined {
    const value = found === undefined ? this.at(...keys) : undefined;
    if (value !== undefined && value.kind !== 'scalar') this.warn(keys.join('.'), value);
    return found;
  }
}
