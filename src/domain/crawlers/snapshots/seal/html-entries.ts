/** Condition on a captured `snapshot_entry`: it is a page whose media type makes it an HTML page. */
export const isHtmlSql = `kind = 'page'
  and coalesce(btrim(split_part(lower(content_type), ';', 1), E' \\t\\n\\x0b\\f\\r'), 'text/html') in ('text/html', 'application/xhtml+xml')`;
