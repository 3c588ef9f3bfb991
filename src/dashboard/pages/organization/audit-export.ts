/** The audit log as a file: all pages of the list REST gives as lines of JSON, with the filters of the page. */
import { csvLine } from '../../lib/csv.ts';
import { startTask } from '../../lib/tasks.ts';

const columns = [
  'at',
  'actor',
  'actor_name',
  'action',
  'subject_type',
  'subject_id',
  'outcome',
  'project',
  'address',
  'request_id',
  'changes',
] as const;

/** Lets the browser keep a text as a file. */
function download(name: string, type: string, parts: string[]): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob(parts, { type }));
  link.download = name;
  link.click();
  // The download has its own hold on the content once it has begun.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export type AuditFormat = 'ndjson' | 'csv';

/** @param filter of the list, times as RFC 3339; null for those that are not set */
export function exportAudit(
  organization: string,
  filter: Record<string, string | null>,
  format: AuditFormat,
  title: string,
): Promise<void> {
  return startTask({
    title,
    async run(report, signal) {
      const query = new URLSearchParams({ per_page: '100' });
      // Rows that come in meanwhile would move the pages.
      const all = { ...filter, until: filter.until ?? new Date().toISOString() };
      for (const [name, value] of Object.entries(all)) if (value !== null) query.set(name, value);
      const parts: string[] = format === 'csv' ? [csvLine(columns)] : [];
      for (let page = 1, hasNext = true; hasNext; page += 1) {
        query.set('page', String(page));
        const response = await fetch(`/api/v2/organizations/${organization}/audit?${query}`, {
          headers: { Accept: 'application/x-ndjson' },
          signal,
        });
        if (!response.ok) throw new Error(((await response.json()) as { message: string }).message);
        const lines = await response.text();
        if (format === 'ndjson') parts.push(lines);
        else {
          for (const line of lines.split('\n').filter(Boolean)) {
            const row = JSON.parse(line) as Record<string, unknown>;
            parts.push(csvLine(columns.map((name) => row[name])));
          }
        }
        const total = Number(response.headers.get('X-Total-Count'));
        report(total > 0 ? Math.min((page * 100) / total, 1) : 1);
        hasNext = response.headers.get('Link')?.includes('rel="next"') ?? false;
      }
      const type = format === 'csv' ? 'text/csv;charset=utf-8' : 'application/x-ndjson';
      download(`${organization}-audit.${format}`, type, parts);
      return undefined;
    },
  });
}
