/** Text as Jekyll makes names of it: what is no letter, digit or mark becomes a hyphen. */
export function slugify(text: string, options: { keepCase?: boolean; pretty?: boolean } = {}): string {
  const dropped = options.pretty ? /[^\p{M}\p{L}\p{Nd}._~!$&'()+,;=@]+/gu : /[^\p{M}\p{L}\p{Nd}]+/gu;
  const slug = text.replace(dropped, '-').replace(/^-|-$/g, '');
  return options.keepCase ? slug : slug.toLowerCase();
}

/** The permalink that a word such as `pretty` stands for; any other text is one already. */
export function styleOf(permalink: string): string {
  switch (permalink) {
    case 'pretty':
      return '/:categories/:year/:month/:day/:title/';
    case 'none':
      return '/:categories/:title:output_ext';
    case 'date':
      return '/:categories/:year/:month/:day/:title:output_ext';
    case 'ordinal':
      return '/:categories/:year/:y_day/:title:output_ext';
    case 'weekdate':
      return '/:categories/:year/W:week/:short_day/:title:output_ext';
    default:
      return permalink;
  }
}

/** How pages and documents end that have no permalink of their own, by that of the site. */
export function suffixOf(permalink: string): string {
  if (permalink === 'pretty' || permalink.endsWith('/')) return '/';
  return ['date', 'none', 'ordinal', 'weekdate'].includes(permalink) || permalink.endsWith(':output_ext')
    ? ':output_ext'
    : '';
}
