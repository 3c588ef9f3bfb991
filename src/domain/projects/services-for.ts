import type { Services } from '../services.ts';
import type { ProjectRef } from './project.entity.ts';

/** The services as a project uses them: where its site stands decides how its content is read. */
export function servicesFor(services: Services, project: ProjectRef | null): Services {
  const content = services.content.below(project?.settings.content_root ?? null);
  return content === services.content ? services : { ...services, content };
}
