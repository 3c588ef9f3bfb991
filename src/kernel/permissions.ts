/** The permissions that can be granted, each with the sentence people read when they grant it. None implies another. */
export const permissions = {
  browse_studio: 'Read schemas, entries, media, branches, commits, pull requests, environments and deployments',
  edit_studio: 'Create and change entries and media, create branches and pull requests, merge',
  delete_studio: 'Delete entries, media and branches',
  manage_studio: 'Change repository settings, environments and files outside collections, force-push',
  browse_crawlers: 'Read crawlers, their runs and snapshots',
  edit_crawlers: 'Create, change, schedule, run and stop crawlers',
  delete_crawlers: 'Delete crawlers',
  manage_crawlers: 'Verify domains, publish against a safety check, manage notification secrets',
  browse_workflows: 'Read workflows and their executions',
  edit_workflows: 'Create and change workflows, run, retry and redeliver by hand',
  delete_workflows: 'Delete workflows',
  manage_workflows: 'Reveal, rotate and revoke trigger secrets, manage workflow secrets',
  browse_organization: 'Read the organisation, its projects and members',
  manage_organization: 'Manage projects, members, tokens and settings, read the audit log',
} as const;

export type Permission = keyof typeof permissions;

export const permissionNames = Object.keys(permissions) as [Permission, ...Permission[]];

/** What an operation may require: a grantable permission, or a role that cannot be granted. */
export type Requirement = Permission | 'public' | 'signed_in' | 'person' | 'owner' | 'instance_admin' | 'run_token';

const withPrefix = (...prefixes: string[]) =>
  permissionNames.filter((name) => prefixes.includes(name.split('_')[0] ?? ''));

/** Role presets: plain sets, copied when used. Owner differs from Admin only in standing, not in permissions. */
export const presets = {
  owner: permissionNames as readonly Permission[],
  admin: permissionNames as readonly Permission[],
  editor: withPrefix('browse', 'edit', 'delete') as readonly Permission[],
  readonly: withPrefix('browse') as readonly Permission[],
} as const;

export type Preset = keyof typeof presets;
