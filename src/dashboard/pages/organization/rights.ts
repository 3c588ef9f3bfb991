/** Permissions in the order of the table they are shown in, and what roles contain (`kernel/actor.ts`). */
import type { Permission, Role } from '../../documents.ts';

export const areas = ['studio', 'crawlers', 'workflows', 'organization'] as const;
export const rights = ['browse', 'edit', 'delete', 'manage'] as const;

/** The permission where row and column meet; null: there is none. */
export function permissionAt(area: (typeof areas)[number], right: (typeof rights)[number]): Permission | null {
  if (area === 'organization') return right === 'browse' || right === 'manage' ? `${right}_organization` : null;
  return `${right}_${area}`;
}

export const roles: readonly Role[] = ['owner', 'admin', 'editor', 'readonly'];

const contains: Record<Role, readonly (typeof rights)[number][]> = {
  owner: rights,
  admin: rights,
  editor: ['browse', 'edit', 'delete'],
  readonly: ['browse'],
};

/** Whether a role has a permission by itself. */
export const isOfRole = (role: Role, permission: Permission): boolean =>
  contains[role].some((right) => permission.startsWith(`${right}_`));
