import { forEachConcurrently } from '../../../../lib/concurrency.ts';
import { isRecord } from '../../../../lib/objects.ts';
import { parseFile } from '../../frontmatter/parse-file.ts';
import type { Frontmatter } from '../../frontmatter/values.ts';
import { compileGlob } from '../../schema/glob.ts';
import { dataOf } from '../../schema/static/values.ts';
import { directoryOf } from '../routing/paths.ts';
import type { RouteContext } from '../routing/route-rule.ts';
import type { HugoContent, HugoPage } from './content.ts';
import type { HugoSettings } from './settings.ts';

/** Values for the pages that are meant. */
interface Rule {
  values: Frontmatter;
  fits(page: HugoPage): boolean;
}

/** The logical path of a page, as targets are compared with it. */
const logicalPath = ({ directory, name }: HugoPage) => [directory, name].filter(Boolean).join('/').toLowerCase();

const targets: Record<string, (page: HugoPage) => string> = {
  path: logicalPath,
  kind: ({ kind }) => kind,
  lang: ({ language }) => language,
  environment: () => 'production',
};

/** @returns null when a target is not understood */
function fitting(target: Record<string, unknown>): Rule['fits'] | null {
  const tests = Object.entries(target).map(([name, pattern]) => {
    const key = name.toLowerCase();
    const read = Object.hasOwn(targets, key) ? targets[key] : undefined;
    const text = typeof pattern === 'string' ? pattern.toLowerCase().replace(/^\/+/, '') : null;
    const glob = text === null ? null : compileGlob(text);
    return read && glob ? (page: HugoPage) => glob.matches(read(page)) : null;
  });
  return tests.includes(null) ? null : (page) => tests.every((test) => test?.(page));
}

/** The rules of one `cascade`, a table or a list of them; rules that are not understood are reported and left out. */
function rulesOf(cascade: unknown, onUnknown: () => void): Rule[] {
  const all = Array.isArray(cascade) ? cascade : cascade === undefined ? [] : [cascade];
  return all.filter(isRecord).flatMap(({ _target, target, ...values }) => {
    const given = _target ?? target;
    const fits = given === undefined ? () => true : isRecord(given) ? fitting(given) : null;
    if (fits === null) onUnknown();
    return fits === null ? [] : [{ values, fits }];
  });
}

/** Keys of frontmatter are written in any case. */
export function member(frontmatter: Frontmatter, name: string): unknown {
  if (Object.hasOwn(frontmatter, name)) return frontmatter[name];
  return Object.entries(frontmatter).find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
}

/** The page of a directory: what of its own frontmatter decides about those below it, and what it hands down. */
interface Section {
  frontmatter: Frontmatter;
  rules: Rule[];
}

/** What the site and its sections give to the pages below them, each language of a section by itself. */
export class HugoCascade {
  readonly #site: Rule[];
  /** By language and directory. */
  readonly #sections: ReadonlyMap<string, Section>;
  /** Characters of what sections hand down. */
  readonly held: number;

  constructor(site: Rule[], sections: ReadonlyMap<string, Section>, held: number) {
    this.#site = site;
    this.#sections = sections;
    this.held = held;
  }

  /** The frontmatter of a page with all that is handed down to it: its own values win, then those of the nearest section. */
  complete(page: HugoPage, frontmatter: Frontmatter): Frontmatter {
    const lists = [...this.#directories(page)].map((one) => this.#sections.get(one)?.rules ?? []);
    const rules = [...lists.flat(), ...this.#site].filter(({ fits }) => fits(page));
    if (rules.length === 0) return frontmatter;
    const names = new Set(Object.keys(frontmatter).map((key) => key.toLowerCase()));
    const added: Frontmatter = {};
    for (const { values } of rules) {
      for (const [key, value] of Object.entries(values)) {
        if (names.has(key.toLowerCase())) continue;
        names.add(key.toLowerCase());
        added[key] = value;
      }
    }
    return { ...added, ...frontmatter };
  }

  /** The pages of the sections above a page with what says whether they are published: what is not published takes along what lies below. */
  above(page: HugoPage): Frontmatter[] {
    const own = page.kind === 'page' ? null : keyOf(page);
    return [...this.#directories(page)].flatMap((key) => {
      const section = key === own ? undefined : this.#sections.get(key);
      if (section === undefined) return [];
      const directory = key.slice(key.indexOf(' ') + 1);
      // The home page is always made.
      if (directory === '') return [];
      const asPage: HugoPage = { kind: 'section', language: page.language, directory, name: '', isLeaf: false };
      return [this.complete(asPage, section.frontmatter)];
    });
  }

  /** Keys of the sections of a page, of its own directory first. */
  *#directories(page: HugoPage): Generator<string> {
    let directory = page.directory;
    while (directory !== '') {
      yield keyOf({ language: page.language, directory });
      directory = directoryOf(directory);
    }
    yield keyOf({ language: page.language, directory });
  }
}

/** What says whether a page is published yet: all that the pages below a section need of its own frontmatter. */
const decisive = new Set(['draft', 'date', 'publishdate', 'expirydate']);
/** No date has more characters. */
const longestDate = 100;

/** Those members, as copies: a value cut out of the file's text would keep all of it in memory. */
function decisiveOf(frontmatter: Frontmatter): Frontmatter {
  const found = Object.entries(frontmatter).filter(([key]) => decisive.has(key.toLowerCase()));
  const kept = found.map(([key, value]) => {
    const isShort = typeof value === 'string' ? value.length <= longestDate : typeof value !== 'object';
    return [key, isShort ? value : null];
  });
  return JSON.parse(JSON.stringify(Object.fromEntries(kept)));
}

const keyOf = ({ language, directory }: { language: string; directory: string }) => `${language} ${directory}`;

const mostSections = 20_000;
/** Characters that all sections hand down. */
const mostHeld = 8 * 1024 * 1024;

/** Reads the cascade of the configuration, and the page of each section. */
export async function readHugoCascade(
  content: HugoContent,
  { settings, cascade }: HugoSettings,
  { site, dependencies }: RouteContext,
): Promise<HugoCascade> {
  const sections = new Map<string, Section>();
  let held = 0;
  await forEachConcurrently(content.sectionFiles.slice(0, mostSections), 16, async (file) => {
    dependencies.add(file.path);
    const { frontmatter } = parseFile(Buffer.from((await site.read(file.path)) ?? ''), file.path);
    if (frontmatter === null) return;
    const warn = () => settings.warn(`cascade of ${file.path}`);
    const text = JSON.stringify(member(frontmatter, 'cascade') ?? null);
    const fits = held + text.length <= mostHeld;
    if (fits) held += text.length;
    else warn();
    const rules = fits && text !== 'null' ? rulesOf(JSON.parse(text), warn) : [];
    sections.set(keyOf(file), { frontmatter: decisiveOf(frontmatter), rules });
  });
  const plain = dataOf(cascade);
  if (cascade !== undefined && plain === undefined) settings.warn('cascade', cascade);
  return new HugoCascade(
    rulesOf(plain, () => settings.warn('cascade', cascade)),
    sections,
    held,
  );
}
