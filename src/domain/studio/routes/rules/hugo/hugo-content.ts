import { below, joinPath } from '../../../schema/site-layout.ts';
import { directoryOf, nameOf, withoutExtension } from '../paths.ts';
import type { HugoSettings } from './hugo-settings.ts';

/** A content file as Hugo sees it. */
export interface HugoPage {
  kind: 'home' | 'section' | 'page';
  language: string;
  /** Directories below the content directory; of a bundle without its own. */
  directory: string;
  /** The file's name without extension and language, of a bundle its directory's. */
  name: string;
}

const contentFile = /\.(md|markdown|mdown|html?|adoc|asciidoc|ad|org|rst|pandoc|pdc)$/i;

/** Which files are pages, and in which sections they lie. */
export class HugoContent {
  readonly #settings: HugoSettings;
  readonly #root: string;
  /** Directories of leaf bundles: other files below are their resources. */
  readonly #bundles = new Set<string>();
  /** Directories with a page of their own. */
  readonly #sections = new Set<string>();

  constructor(settings: HugoSettings, root: string, paths: readonly string[]) {
    this.#settings = settings;
    this.#root = root;
    for (const path of paths) {
      const at = contentFile.test(path) ? this.#locate(path) : null;
      if (at === null) continue;
      const base = this.#splitLanguage(nameOf(at.rest))[0];
      if (base === 'index' && at.rest.includes('/')) this.#bundles.add(directoryOf(path));
      if (base === '_index') this.#sections.add(directoryOf(at.rest));
    }
  }

  /** null for what is no page: data, hidden files, resources of bundles. */
  page(path: string): HugoPage | null {
    const at = contentFile.test(path) ? this.#locate(path) : null;
    if (at === null || at.rest.split('/').some((part) => part.startsWith('.'))) return null;
    const directory = directoryOf(at.rest);
    const [base, suffix] = this.#splitLanguage(nameOf(at.rest));
    const language = at.language ?? suffix ?? this.#settings.defaultLanguage;
    if (base === '_index') return { kind: directory === '' ? 'home' : 'section', language, directory, name: '' };
    if (this.#isResource(directoryOf(path), base)) return null;
    if (base !== 'index') return { kind: 'page', language, directory, name: base };
    if (directory === '') return { kind: 'home', language, directory, name: '' };
    return { kind: 'page', language, directory: directoryOf(directory), name: nameOf(directory) };
  }

  /** The sections a directory lies in: the top one, and those below that have a page. */
  sections(directory: string): string[] {
    const parts = directory === '' ? [] : directory.split('/');
    let deepest = Math.min(1, parts.length);
    for (let depth = 2; depth <= parts.length; depth++)
      if (this.#sections.has(parts.slice(0, depth).join('/'))) deepest = depth;
    return parts.slice(0, deepest);
  }

  #isResource(directory: string, base: string): boolean {
    if (this.#bundles.has(directory)) return base !== 'index';
    for (let up = directoryOf(directory); up !== ''; up = directoryOf(up)) if (this.#bundles.has(up)) return true;
    return false;
  }

  #locate(path: string): { rest: string; language: string | null } | null {
    const found = this.#settings.contents
      .map(({ directory, language }) => ({ rest: below(joinPath(this.#root, directory), path), language }))
      .filter((one): one is { rest: string; language: string | null } => one.rest !== null);
    // Of nested content directories the deepest one owns the file.
    return found.sort((a, b) => a.rest.length - b.rest.length)[0] ?? null;
  }

  #splitLanguage(name: string): [string, string | null] {
    const stem = withoutExtension(name);
    const dot = stem.lastIndexOf('.');
    const code = stem.slice(dot + 1).toLowerCase();
    return dot > 0 && this.#settings.languages.includes(code) ? [stem.slice(0, dot), code] : [stem, null];
  }
}
