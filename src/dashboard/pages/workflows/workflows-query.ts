import {
  Deliveries,
  type DeliveriesQuery,
  type DeliveriesQueryVariables,
  TriggerPage,
  type TriggerPageQuery,
  type TriggerPageQueryVariables,
  WorkflowPage,
  type WorkflowPageQuery,
  type WorkflowPageQueryVariables,
  Workflows,
  type WorkflowsQuery,
  type WorkflowsQueryVariables,
} from '../../documents.ts';
import type { PageQuery } from '../../lib/client.ts';

interface At {
  organization: string;
  project: string;
}

export const workflowTabs = ['definition', 'triggers', 'executions', 'versions', 'secrets'] as const;
export type WorkflowTab = (typeof workflowTabs)[number];

export const workflowsQuery = (
  { organization, project }: At,
  { q, after }: { q?: string | undefined; after?: string | undefined },
): PageQuery<WorkflowsQuery, WorkflowsQueryVariables> => ({
  query: Workflows,
  variables: { organization, project, q: q ?? null, after: after ?? null },
});

/** A workflow with the list that its open tab shows. */
export const workflowQuery = (
  { organization, project, workflow }: At & { workflow: string },
  { tab, after }: { tab?: WorkflowTab | undefined; after?: string | undefined },
): PageQuery<WorkflowPageQuery, WorkflowPageQueryVariables> => ({
  query: WorkflowPage,
  variables: {
    organization,
    project,
    workflow,
    triggers: tab === 'triggers',
    executions: tab === 'executions',
    versions: tab === 'versions',
    secrets: tab === 'secrets',
    after: after ?? null,
  },
});

interface AtTrigger extends At {
  workflow: string;
  trigger: string;
}

export const triggerQuery = ({
  organization,
  project,
  workflow,
  trigger,
}: AtTrigger): PageQuery<TriggerPageQuery, TriggerPageQueryVariables> => ({
  query: TriggerPage,
  variables: { organization, project, workflow, trigger },
});

/** Read beside the trigger, and again while it is shown: calls come at any time. */
export const deliveriesQuery = (
  { organization, project, workflow, trigger }: AtTrigger,
  { after }: { after?: string | undefined },
): PageQuery<DeliveriesQuery, DeliveriesQueryVariables> => ({
  query: Deliveries,
  variables: { organization, project, workflow, trigger, after: after ?? null },
});

export interface WorkflowTabProps {
  workflow: NonNullable<NonNullable<WorkflowPageQuery['project']>['workflow']>;
  refresh: () => void;
  /** Cursor of the page shown of the tab's list. */
  after: string | undefined;
  onPage: (after: string | undefined) => void;
}

export type TriggerWorkflow = NonNullable<NonNullable<TriggerPageQuery['project']>['workflow']>;
export type Trigger = NonNullable<TriggerWorkflow['trigger']>;
export type DeliveryList = NonNullable<
  NonNullable<NonNullable<NonNullable<DeliveriesQuery['project']>['workflow']>['trigger']>['deliveries']
>;
