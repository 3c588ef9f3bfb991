import {
  type EntryContentFragment,
  EntryPage,
  type EntryPageQuery,
  type EntryPageQueryVariables,
} from '../../documents.ts';
import type { PageQuery } from '../../lib/client.ts';
import { isFields } from '../../lib/json.ts';
import type { Place } from '../../lib/place.ts';
import type { Content } from './rebase.ts';

/** An entry with the form it is edited by, and whether this branch may be written to. @param slug undefined for an entry that is to be made */
export const entryQuery = (
  { organization, project, draft }: Place,
  collection: string,
  slug: string | undefined,
): PageQuery<EntryPageQuery, EntryPageQueryVariables> => ({
  query: EntryPage,
  variables: {
    organization,
    project,
    branch: draft ?? null,
    draft: draft ?? '',
    isDraft: draft !== undefined,
    collection,
    slug: slug ?? '',
    isNew: slug === undefined,
  },
});

type Stored = Pick<EntryContentFragment, 'frontmatter' | 'body' | 'eol'> & { raw?: string | null };

const withLf = ({ eol }: Stored, text: string) => (eol === 'crlf' ? text.replaceAll('\r\n', '\n') : text);

/** What an editor holds of a stored entry. Lines end with a line feed alone; where all of a file's end otherwise, so they do when it is saved. */
export const contentOf = (entry: Stored): Content =>
  typeof entry.raw === 'string'
    ? { fields: {}, body: '', raw: withLf(entry, entry.raw) }
    : { fields: isFields(entry.frontmatter) ? entry.frontmatter : {}, body: withLf(entry, entry.body), raw: null };

/** What the site's own configuration or archetype begins an entry with. */
export const templateContent = (template: { frontmatter: unknown; body: string } | null): Content => ({
  fields: isFields(template?.frontmatter) ? template.frontmatter : {},
  body: template?.body ?? '',
  raw: null,
});
