import { listAudit } from '../domain/audit/audit.operations.ts';
import { createToken, listTokens, revokeToken } from '../domain/identity/tokens.operations.ts';
import {
  createOrganization,
  getOrganization,
  listOrganizations,
  updateOrganization,
} from '../domain/organizations/organizations.operations.ts';
import {
  createProject,
  deleteProject,
  getProject,
  listProjects,
  restoreProject,
  updateProject,
} from '../domain/projects/projects.operations.ts';
import { del, get, patch, post, type Row } from './table.ts';

const organizations = '/api/v2/organizations';
const organization = `${organizations}/:organization`;
const projects = `${organization}/projects`;
const project = `${projects}/:project`;

const named = ({ machine_name }: { machine_name: string }) => `/${machine_name}`;

/** Every URL of the REST interface, and the operation it runs. */
export const routes: readonly Row[] = [
  get(organizations, listOrganizations, 200),
  post(organizations, createOrganization, 201, { location: named }),
  get(organization, getOrganization, 200),
  patch(organization, updateOrganization, 200),
  get(projects, listProjects, 200),
  post(projects, createProject, 201, { location: named }),
  get(project, getProject, 200),
  patch(project, updateProject, 200),
  del(project, deleteProject, 204),
  post(`${projects}/:deleted_project/restore`, restoreProject, 200),
  get(`${organization}/tokens`, listTokens, 200),
  post(`${organization}/tokens`, createToken, 201),
  del(`${organization}/tokens/:token_id`, revokeToken, 200),
  get(`${organization}/audit`, listAudit, 200),
];
