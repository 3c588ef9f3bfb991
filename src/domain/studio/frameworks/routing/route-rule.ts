import type { Frontmatter } from '../../frontmatter/values.ts';
import type { SiteReading } from '../../schema/reader.ts';
import type { DetectedSite } from '../detect-framework.ts';

/** A file that may be a page; `path` is from the repository's root. */
export interface PageFile {
  path: string;
  frontmatter: Frontmatter;
}

/** What a prediction rests on. */
export interface RouteEvidence {
  /** 0.9 explicit and complete, 0.7 by convention, 0.4 a guess; less for every setting that is not known. */
  confidence: number;
  source: { path: string; line?: number };
}

/**
 * How the text of an entry names what has an address on the site: by that address, or by what of it follows the base, which the framework puts
 * before it. `relative`: it does not, but has the path from the entry's own file to the other one, which the framework makes an address of.
 */
export type LinkForm = 'address' | 'below_base' | 'relative';

/** How texts name files that are published as they are, and pages. */
export type LinkForms = Readonly<Record<'files' | 'pages', LinkForm>>;

/** Characters of the longest address: one file may give its own to all pages of its section. */
export const longestAddress = 2_048;

/** In place of an address that nothing would shorten to an allowed one. */
const tooLong = 'x'.repeat(longestAddress + 1);

/** Characters of a text that becomes a part of an address: what is dropped of it counts, too. */
const longestPart = 8 * longestAddress;

/** Makes a part of an address of a text; one that is too long for any address is not looked through. */
export const partOf = (text: string, make: (text: string) => string): string =>
  text.length > longestPart ? tooLong : make(text);

/**
 * Fills in a template of addresses as `replace` does. One that becomes far longer than an address may be is not filled in further, and each text that is
 * replaced is made once: a file can name a long value thousands of times.
 * @param names global
 * @param replacement what a match becomes
 */
export function fillTemplate(template: string, names: RegExp, replacement: (match: RegExpExecArray) => string): string {
  if (template.length > longestAddress) return tooLong;
  const values = new Map<string, string>();
  let filled = '';
  let end = 0;
  for (const match of template.matchAll(names)) {
    const value = values.get(match[0]) ?? replacement(match);
    values.set(match[0], value);
    filled += template.slice(end, match.index) + value;
    end = match.index + match[0].length;
    if (filled.length > longestPart) return tooLong;
  }
  return filled + template.slice(end);
}

/** Further paths of one page that count: one file may give its own to all pages of its section. */
export const mostAliases = 100;

/** Where a site publishes its files. */
export interface RouteRule {
  /** The path the whole site lies below, without a slash at its end; `''` for none. */
  base: string;
  /** Characters of files that it holds beside the paths; absent: none worth counting. */
  held?: number;
  /** Absent: by their addresses. */
  links?: LinkForms;
  /** A setting that decides about every address and cannot be determined, so that no file has one; null or absent without one. */
  undetermined?: string | null;
  /**
   * The path of a file's page below `base`, not percent-encoded; null when the file is no page, or not published. It depends on nothing but
   * the file's path, its frontmatter and the configuration.
   */
  urlOf(file: PageFile): string | null;
  /** Further paths, like that of `urlOf`, that lead on to the page of a file; the first `mostAliases` count. */
  aliasesOf?(file: PageFile): string[];
  /** Why a file is no page, or not published, in a sentence; null: nothing is known of it. */
  whyNone?(file: PageFile): string | null;
  /** What the paths of files like this one rest on. */
  evidenceOf(path: string): RouteEvidence;
  /** Whether the dates of a page let it be published at a moment; absent: they never matter. */
  isDue?(file: PageFile, now: Date): boolean;
}

/** A site whose configuration is being read. */
export interface RouteContext extends SiteReading {
  detected: DetectedSite;
}

export type RouteReader = (reading: RouteContext) => Promise<RouteRule>;

const penalty = 0.2;
const least = 0.1;

/** Confidence after so many settings that could not be read. */
export const penalizeUnknown = (confidence: number, unknown: number): number =>
  Math.max(least, Math.round((confidence - penalty * unknown) * 100) / 100);
