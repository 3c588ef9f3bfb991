import { ProjectSettings, type ProjectSettingsQuery, type ProjectSettingsQueryVariables } from '../../documents.ts';
import type { PageQuery } from '../../lib/client.ts';

interface ProjectRef {
  organization: string;
  project: string;
}

/** Name, repository and what was found in it. Settings are of the project, whichever draft one works in. */
export const settingsQuery = ({
  organization,
  project,
}: ProjectRef): PageQuery<ProjectSettingsQuery, ProjectSettingsQueryVariables> => ({
  query: ProjectSettings,
  variables: { organization, project },
});

type Project = NonNullable<ProjectSettingsQuery['project']>;
export type Studio = Project['studio'];
export type Repository = NonNullable<Studio['repository']>;

/** What each section is given. */
export interface SectionProps {
  place: ProjectRef;
  repository: Repository;
  /** Asks for the page again, after a command. */
  onChanged: () => void;
}
