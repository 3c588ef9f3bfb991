import type { z } from 'zod';
import type { ProjectContext } from '../../operation.ts';
import type { Project } from '../../projects/project.entity.ts';
import { studioSettings } from '../../projects/studio-settings.ts';
import { latestRescued } from '../upstream/rescued.ts';
import { syncOfAll } from '../upstream/sync-record.ts';
import { Upstream } from '../upstream/upstream.entity.ts';
import type { repository } from './repository.schema.ts';

/** The repository of a project, as it is shown. */
export async function repositoryRecord(
  context: Pick<ProjectContext, 'em' | 'git' | 'services' | 'organization' | 'project'>,
  row: Project,
): Promise<z.output<typeof repository>> {
  const { em, git, services, organization, project } = context;
  const [default_branch, size, object_format, upstream] = await Promise.all([
    git.defaultBranch(),
    git.diskSize(),
    git.objectFormat(),
    em.findOne(Upstream, project.id),
  ]);
  const { content_root, routes, ...settings } = studioSettings(row.settings);
  const { public_url } = services.settings;
  const names = { organization: organization.machine_name, project: project.machine_name };
  const studio = `${public_url}/api/v2/organizations/${names.organization}/projects/${names.project}/studio`;
  const standing = upstream && (await syncOfAll(context));
  return {
    mode: upstream ? 'remote' : 'hosted',
    default_branch,
    size,
    object_format,
    clone_url: `${public_url}/git/${names.organization}/${names.project}.git`,
    content_root,
    route_patterns: routes?.patterns ?? null,
    settings,
    upstream: upstream && {
      url: upstream.url,
      auth_kind: upstream.auth_kind,
      push: upstream.push,
      hook_url: `${studio}/repository/hook`,
    },
    sync: standing?.sync ?? null,
    diverged: standing?.diverged ?? [],
    rescued: await latestRescued(git),
    import: row.import ? { ...row.import, phase: row.import.phase ?? null } : null,
  };
}
