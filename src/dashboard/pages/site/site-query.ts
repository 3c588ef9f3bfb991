import {
  DeploymentPage,
  type DeploymentPageQuery,
  type DeploymentPageQueryVariables,
  DraftPreviews,
  type DraftPreviewsQuery,
  type DraftPreviewsQueryVariables,
  EnvironmentPage,
  type EnvironmentPageQuery,
  type EnvironmentPageQueryVariables,
  Site,
  type SiteQuery,
  type SiteQueryVariables,
} from '../../documents.ts';
import type { PageQuery } from '../../lib/client.ts';

interface At {
  organization: string;
  project: string;
}

/** What is live, and what was deployed lately. @param after cursor of a page of the deployments */
export const siteQuery = (
  { organization, project }: At,
  after: string | undefined,
): PageQuery<SiteQuery, SiteQueryVariables> => ({
  query: Site,
  variables: { organization, project, after: after ?? null },
});

/** Previews of drafts, which come on top of as many environments as a page of a list holds. */
export const previewsQuery = ({
  organization,
  project,
}: At): PageQuery<DraftPreviewsQuery, DraftPreviewsQueryVariables> => ({
  query: DraftPreviews,
  variables: { organization, project },
});

export const deploymentQuery = (
  { organization, project }: At,
  deployment: number,
): PageQuery<DeploymentPageQuery, DeploymentPageQueryVariables> => ({
  query: DeploymentPage,
  variables: { organization, project, deployment },
});

export const environmentQuery = (
  { organization, project }: At,
  environment: number,
  after: string | undefined,
): PageQuery<EnvironmentPageQuery, EnvironmentPageQueryVariables> => ({
  query: EnvironmentPage,
  variables: { organization, project, environment, after: after ?? null },
});

type Environment = NonNullable<NonNullable<EnvironmentPageQuery['project']>['studio']['environment']>;
export type Variable = Environment['variables'][number];

/** What each section of an environment's page is given. */
export interface EnvironmentSectionProps extends At {
  environment: Environment;
  /** Asks for the page again, after a command. */
  onChanged: () => void;
}
