import { Organizations, type OrganizationsQuery, type OrganizationsQueryVariables } from '../../documents.ts';
import type { PageQuery } from '../../lib/client.ts';

export const startQuery = (): PageQuery<OrganizationsQuery, OrganizationsQueryVariables> => ({
  query: Organizations,
  variables: {},
});
