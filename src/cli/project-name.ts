import { listOrganizations } from '../domain/organizations/organizations.operations.ts';
import { listProjects } from '../domain/projects/projects.operations.ts';
import type { AllServices } from '../domain/services.ts';
import { maxPerPage, type Page } from '../kernel/paging.ts';
import { machineName } from '../kernel/shapes.ts';
import { call, UsageError } from './command.ts';

/** Where a project is, by machine names. */
export interface ProjectName {
  organization: string;
  project: string;
}

/** As it is typed and printed. */
export const shownName = ({ organization, project }: ProjectName) => `${organization}/${project}`;

/** Reads `<organization>/<project>`. @throws UsageError */
export function projectName(text: string): ProjectName {
  const [organization = '', project = '', ...more] = text.split('/');
  const isName = more.length === 0 && [organization, project].every((name) => machineName.safeParse(name).success);
  if (!isName) throw new UsageError(`${text} is not a project; write <organization>/<project>`);
  return { organization, project };
}

/** The machine name an option gives. @throws UsageError */
export function machineNameOf(option: string, text: string): string {
  const parsed = machineName.safeParse(text);
  if (!parsed.success) throw new UsageError(`--${option} ${parsed.error.issues[0]?.message}`);
  return parsed.data;
}

/** Every project of every organisation, in the order lists have. */
export async function everyProject(services: AllServices): Promise<ProjectName[]> {
  const found: ProjectName[] = [];
  const organizations = await allItems((page) => call(services, listOrganizations, page));
  for (const { machine_name: organization } of organizations) {
    const projects = await allItems((page) => call(services, listProjects, { organization, ...page }));
    found.push(...projects.map(({ machine_name: project }) => ({ organization, project })));
  }
  return found;
}

async function allItems<T>(
  ask: (page: { page: number; per_page: number }) => Promise<Pick<Page<T>, 'items' | 'has_next_page'>>,
) {
  const items: T[] = [];
  for (let page = 1; ; page += 1) {
    const answer = await ask({ page, per_page: maxPerPage });
    items.push(...answer.items);
    if (!answer.has_next_page) return items;
  }
}
