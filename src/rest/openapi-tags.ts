import type { Row } from './table.ts';

/** The parts of the interface in the words of its readers; a part not named here is called by its own name. */
const parts: Record<string, { name: string; description: string }> = {
  organizations: { name: 'Organisations', description: 'The tenants of this instance.' },
  projects: { name: 'Projects', description: 'Each project has one git repository with the content of one site.' },
  identity: { name: 'Access', description: 'API tokens: who may do what, where, and until when.' },
  audit: { name: 'Audit', description: 'What was done, by whom, with what outcome.' },
  studio: {
    name: 'Studio',
    description:
      'The content in the repository: schemas, entries, files, branches and commits. Every write is a commit.',
  },
  crawlers: { name: 'Crawlers', description: 'Crawlers, their schedules, runs and snapshots.' },
  workflows: { name: 'Workflows', description: 'Workflows, their triggers and executions.' },
};

function partOf({ operation }: Row): { name: string; description: string } {
  const part = operation.name.split('.')[0] ?? '';
  return parts[part] ?? { name: part.charAt(0).toUpperCase() + part.slice(1), description: `The ${part} part.` };
}

/** The name of the part a row belongs to. */
export const tagOf = (row: Row): string => partOf(row).name;

/** The parts of a table, in its order. */
export function tagsOf(rows: readonly Row[]): { name: string; description: string }[] {
  return [...new Map(rows.map((row) => [tagOf(row), partOf(row)])).values()].map((part) => ({ ...part }));
}
