/** What the addresses of the content pages say: anybody with the link sees the same list. */
import { z } from 'zod/mini';

/** The router reads `q=2026` as a number; what cannot be read is left out. */
const text = () => z.catch(z.optional(z.coerce.string()), undefined);

/** Tests by field and operator, as the API takes them: `{"author": {"eq": "ada"}}`. */
const filter = z.record(z.string(), z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])));

export const contentSearchParams = z.object({
  q: text(),
  after: text(),
  page: z.catch(z.optional(z.number()), undefined),
});
export type ContentSearchParams = z.infer<typeof contentSearchParams>;

export const collectionSearch = z.object({
  q: text(),
  /** Name of a field, descending with a leading `-`. */
  sort: text(),
  status: z.catch(z.optional(z.enum(['draft', 'published'])), undefined),
  locale: text(),
  invalid: z.catch(z.optional(z.literal(true)), undefined),
  filter: z.catch(z.optional(filter), undefined),
  /** Cursor behind which the page of the list begins, and its number. */
  after: text(),
  page: z.catch(z.optional(z.number()), undefined),
});
export type CollectionSearch = z.infer<typeof collectionSearch>;
export type Filter = z.infer<typeof filter>;
