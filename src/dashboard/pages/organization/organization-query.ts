import {
  OrganizationAudit,
  OrganizationHead,
  type OrganizationHeadQuery,
  type OrganizationHeadQueryVariables,
  OrganizationMembers,
  type OrganizationMembersQuery,
  OrganizationProjects,
  OrganizationSettings,
  OrganizationTokens,
} from '../../documents.ts';
import type { PageQuery } from '../../lib/client.ts';

export const tabs = ['projects', 'members', 'tokens', 'audit', 'settings'] as const;
export type Tab = (typeof tabs)[number];

/** Filters of the audit log, as they stand in the address. Days are in the person's time zone. */
export interface AuditFilter {
  actor?: string | undefined;
  action?: string | undefined;
  subject?: string | undefined;
  since?: string | undefined;
  until?: string | undefined;
}

export interface OrganizationSearch extends AuditFilter {
  tab?: Tab | undefined;
  after?: string | undefined;
}

/** What each tab is given: where it is, and the way to another part of it. */
export interface TabProps {
  organization: string;
  search: OrganizationSearch;
  onSearch: (change: OrganizationSearch) => void;
}

export type Member = NonNullable<
  NonNullable<NonNullable<OrganizationMembersQuery['organization']>['members']>['nodes'][number]
>;

/** Stands above each tab. */
export const headQuery = (organization: string): PageQuery<OrganizationHeadQuery, OrganizationHeadQueryVariables> => ({
  query: OrganizationHead,
  variables: { organization },
});

const listed = (organization: string, after: string | undefined) => ({ organization, after: after ?? null });

/** A day of the address → the moment it begins, in the time zone of the browser; the day after it for the end of a range. */
function beginning(day: string | undefined, daysLater = 0): string | null {
  if (day === undefined) return null;
  const date = new Date(`${day}T00:00:00`);
  if (Number.isNaN(date.getTime())) return null;
  date.setDate(date.getDate() + daysLater);
  return date.toISOString();
}

/** What each tab shows first. */
export const tabQueries = {
  projects: (organization: string, { after }: OrganizationSearch) => ({
    query: OrganizationProjects,
    variables: listed(organization, after),
  }),
  members: (organization: string, { after }: OrganizationSearch) => ({
    query: OrganizationMembers,
    variables: listed(organization, after),
  }),
  tokens: (organization: string, { after }: OrganizationSearch) => ({
    query: OrganizationTokens,
    variables: listed(organization, after),
  }),
  audit: (organization: string, { after, actor, action, subject, since, until }: OrganizationSearch) => ({
    query: OrganizationAudit,
    variables: {
      ...listed(organization, after),
      actor: actor ?? null,
      action: action ?? null,
      subject: subject ?? null,
      since: beginning(since),
      until: beginning(until, 1),
    },
  }),
  settings: (organization: string) => ({ query: OrganizationSettings, variables: { organization } }),
} satisfies Record<Tab, (organization: string, search: OrganizationSearch) => unknown>;
