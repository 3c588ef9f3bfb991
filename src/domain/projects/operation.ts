import type { Permission } from '../../kernel/actor.ts';
import {
  type Extension,
  type ProjectContext as InProject,
  organizationOperation as inOrganization,
  projectOperation as inProject,
} from '../../kernel/operation.ts';
import type { OrganizationRef } from '../organizations/organization.entity.ts';
import type { NamedPlaces } from './places.ts';
import type { ProjectRef } from './project.entity.ts';

/** What an operation of a project knows: its settings, too. */
export interface ProjectContext<Also extends Permission = never> extends InProject<Also> {
  organization: OrganizationRef;
  project: ProjectRef;
}

// `places` is what found the place of the call, so its records are these.
const organizationRecord: Extension<'organization', { places: NamedPlaces }, { organization: OrganizationRef }> = {
  provide: (_services, { organization }) => ({ organization: organization as OrganizationRef }),
};
const projectRecord: Extension<
  'project',
  { places: NamedPlaces },
  { organization: OrganizationRef; project: ProjectRef }
> = {
  provide: (_services, { organization, project }) => ({
    organization: organization as OrganizationRef,
    project: project as ProjectRef,
  }),
};

/** An operation of one organisation, with its record. */
export const organizationOperation = inOrganization.with(organizationRecord);
/** An operation of one project, with its record. */
export const projectOperation = inProject.with(projectRecord);
