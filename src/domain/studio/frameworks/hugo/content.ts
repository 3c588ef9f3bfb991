import { below, joinPath } from '../../schema/site-layout.ts';
import { directoryOf, nameOf, withoutExtension } from '../routing/paths.ts';
import type { HugoSettings } from './settings.ts';

/** A content file as Hugo sees it. */
export interface HugoPage {
  kind: 'home' | 'section' | 'page';
  language: string;
  /** Directories below the content; of a bundle without its own. */
  directory: string;
  /** The file's name without extension and language, of a bundle its directory's. */
  name: string;
  /** A page with a directory of its own, whose other files are its resources. */
  isLeaf: boolean;
}

/** The page of a directory, as far as Hugo is concerned: a section, or the home page. */
export interface SectionFile {
  path: string;
  language: string;
  directory: string;
}

const contentFile = /\.(md|markdown|mdown|html?|adoc|asciidoc|ad|org|rst|pandoc|pdc)$/i;

/** Which files are pages, and in which sections they lie. */
export class HugoContent {
  readonly #settings: HugoSettings;
  /** Directories of leaf bundles: other files below are their resources. */
  readonly #bundles = new Set<string>();
  /** Directories with a page of their own. */
  readonly #sections = new Set<string>();
  /** The files of these pages. */
  readonly sectionFiles: SectionFile[] = [];

  constructor(settings: HugoSettings, paths: readonly string[]) {
    this.#settings = settings;
    for (const path of paths) {
      const at = contentFile.test(path) ? this.#locate(path) : null;
      if (at === null) continue;
      const [base, suffix] = this.#splitLanguage(nameOf(at.rest));
      if (base === 'index' && at.rest.includes('/')) this.#bundles.add(directoryOf(path));
      if (base !== '_index') continue;
      this.#sections.add(directoryOf(at.rest));
      const language = at.language ?? suffix ?? this.#settings.defaultLanguage;
      this.sectionFiles.push({ path, language, directory: directoryOf(at.rest) });
    }
  }

  /** null for what is no page: data, hidden files, resources of bundles, languages that are switched off. */
  page(path: string): HugoPage | null {
    const at = contentFile.test(path) ? this.#locate(path) : null;
    if (at === null || at.rest.split('/').some((part) => part.startsWith('.'))) return null;
    const directory = directoryOf(at.rest);
    const [base, suffix] = this.#splitLanguage(nameOf(at.rest));
    const language = at.language ?? suffix ?? this.#settings.defaultLanguage;
    if (!this.#settings.languages.has(language)) return null;
    const home: HugoPage = { kind: 'home', language, directory: '', name: '', isLeaf: false };
    if (base === '_index') return directory === '' ? home : { ...home, kind: 'section', directory };
    if (this.#isResource(directoryOf(path), base)) return null;
    if (base !== 'index') return { ...home, kind: 'page', directory, name: base };
    if (directory === '') return home;
    return { kind: 'page', language, directory: directoryOf(directory), name: nameOf(directory), isLeaf: true };
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
    let found: { rest: string; language: string | null; depth: number } | null = null;
    for (const { source, target, language, accepts } of this.#settings.contents) {
      const inner = path === source ? '' : below(source, path);
      if (inner === null || (inner !== '' && !accepts(inner))) continue;
      // Of nested directories the deepest one owns the file.
      if (found === null || source.length > found.depth)
        found = { rest: joinPath(target, inner), language, depth: source.length };
    }
    return found;
  }

  #splitLanguage(name: string): [string, string | null] {
    const stem = withoutExtension(name);
    const dot = stem.lastIndexOf('.');
    const code = stem.slice(dot + 1).toLowerCase();
    const { languages, disabledLanguages } = this.#settings;
    const isCode = languages.has(code) || disabledLanguages.has(code);
    return dot > 0 && isCode ? [stem.slice(0, dot), code] : [stem, null];
  }
}
