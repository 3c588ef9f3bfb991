/** Languages of a collection's entries, and how the slug of a translation follows from that of its original. */

interface Entry {
  slug: string;
  locale: string | null;
}

/** Languages that entries of the collection are in, in the order of their codes. */
export const localesOf = (entries: readonly Entry[]): string[] =>
  [...new Set(entries.flatMap(({ locale }) => locale ?? []))].sort();

/** Slug of a translation: `en/a` → `de/a`, `a.en` → `a.de`; of an original without a mark as other entries mark theirs. */
export function translatedSlug({ slug, locale }: Entry, wanted: string, others: readonly Entry[]): string {
  if (locale !== null && slug.startsWith(`${locale}/`)) return `${wanted}${slug.slice(locale.length)}`;
  if (locale !== null && slug.endsWith(`.${locale}`)) return `${slug.slice(0, -locale.length)}${wanted}`;
  const inFolders = others.some((one) => one.locale !== null && one.slug.startsWith(`${one.locale}/`));
  return inFolders ? `${wanted}/${slug}` : `${slug}.${wanted}`;
}
