import { z } from 'zod';
import { DomainError } from '../../errors.ts';
import { projectOperation } from '../../operation.ts';
import { eventSubject } from '../../ports/event-feed.ts';
import { Project } from '../../projects/project.entity.ts';
import { importSubject } from '../import-job.ts';
import { importState } from './repository.schema.ts';

export const readImport = projectOperation({
  name: 'studio.readImport',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Follow the progress of an import into the repository until it ends',
  input: z.object({}),
  output: z.object({ subject: eventSubject, import: importState }),
  async execute({ em, project }) {
    const row = await em.findOneOrFail(Project, project.id, { refresh: true });
    if (!row.import) throw new DomainError('not_found', 'Nothing has been imported into this project');
    return { subject: importSubject(project.id), import: row.import };
  },
});
