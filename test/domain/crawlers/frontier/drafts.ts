import { priorities, type UrlDraft } from '../../../../src/domain/crawlers/frontier/url-draft.ts';

export const host = 'www.example.com';

const draftOf = (at: number, depth: number): UrlDraft => ({
  url: `https://${host}/${at}/`,
  kind: 'page',
  is_entry: false,
  follows: true,
  depth,
  priority: priorities.page,
  hop: 0,
  level: 0,
  parent_id: null,
  rule: null,
});
/** Pages of one host, numbered. */
export const drafts = (from: number, to: number, depth: number) =>
  Array.from({ length: to - from }, (_, index) => draftOf(from + index, depth));
