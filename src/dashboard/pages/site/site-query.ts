import {
  DeploymentPage,
  type DeploymentPageQuery,
  type DeploymentPageQueryVariables,
  Site,
  type SiteQuery,
  type SiteQueryVariables,
} from '../../documents.ts';
import type { PageQuery } from '../../lib/client.ts';

interface At {
  organization: string;
  project: string;
}

/** What is live, and what was deployed lately. */
export const siteQuery = ({ organization, project }: At): PageQuery<SiteQuery, SiteQueryVariables> => ({
  query: Site,
  variables: { organization, project },
});

export const deploymentQuery = (
  { organization, project }: At,
  deployment: number,
): PageQuery<DeploymentPageQuery, DeploymentPageQueryVariables> => ({
  query: DeploymentPage,
  variables: { organization, project, deployment },
});
