/** The workflows of a project: whether they are on, and how they last went. */
import { Box, Button, Group, Switch, Text, Title } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { SetWorkflowEnabled, type WorkflowsQuery } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { useFormats } from '../../lib/format.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { usePlace } from '../../lib/place.ts';
import { useCan } from '../../lib/viewer.tsx';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { List, ListRow } from '../../parts/list.tsx';
import { Pager } from '../../parts/pager.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { Failure, Notice, Waiting } from '../../shell/states.tsx';
import { ExecutionMark } from './execution-mark.tsx';
import { workflowsQuery } from './workflows-query.ts';

type Row = NonNullable<NonNullable<WorkflowsQuery['project']>['workflows']>['nodes'][number];

function LastRun({ workflow }: { workflow: Row }) {
  const { t } = useTranslation('workflows');
  const { ago } = useFormats();
  const last = workflow.last_execution;
  if (!last)
    return (
      <Text c="dimmed" size="sm">
        {t('never_run')}
      </Text>
    );
  return (
    <Group gap="xs" wrap="nowrap">
      <ExecutionMark status={last.status} />
      <Text c="dimmed" size="sm">
        {ago(last.created_at)}
      </Text>
    </Group>
  );
}

export function WorkflowsPage() {
  const { t } = useTranslation(['workflows', 'common']);
  const { organization, project } = usePlace();
  const search = useSearch({ from: '/inside/p/$organization/$project/workflows' });
  const navigate = useNavigate({ from: '/p/$organization/$project/workflows' });
  const can = useCan(organization, project);
  const { data, fault, refresh } = usePageQuery(workflowsQuery({ organization, project }, search));
  const enable = useCommand(SetWorkflowEnabled);
  const { q: current } = search;

  const workflows = data?.project?.workflows;
  const isEmpty = workflows?.total_count === 0 && !current;
  const newWorkflow = can('edit_workflows') && (
    <Button
      leftSection={<IconPlus size={16} />}
      renderRoot={(props) => (
        <Link to="/p/$organization/$project/workflows/new" params={{ organization, project }} {...props} />
      )}
    >
      {t('new_workflow')}
    </Button>
  );
  const toggle = async (workflow: Row, enabled: boolean) => {
    await enable.run({ organization, project, input: { workflow: workflow.id, enabled } });
    refresh();
  };
  return (
    <>
      <Group justify="space-between" mb="lg">
        <Title order={1}>{t('title')}</Title>
        {!isEmpty && newWorkflow}
      </Group>
      {fault && !workflows && <Failure fault={fault} onRetry={refresh} />}
      {!fault && !workflows && <Waiting />}
      {isEmpty && (
        <Notice title={t('none')} action={newWorkflow}>
          {t('none_lead')}
        </Notice>
      )}
      {workflows && !isEmpty && (
        <>
          <Box mb="sm">
            <SearchField
              label={t('search')}
              value={current ?? ''}
              onSearch={(words) =>
                navigate({
                  search: (before) => ({ ...before, q: words || undefined, after: undefined }),
                  replace: true,
                })
              }
            />
          </Box>
          <FaultAlert fault={enable.fault} />
          {workflows.nodes.length === 0 ? (
            <Text c="dimmed">{t('none_found')}</Text>
          ) : (
            <List label={t('title')} columns={[t('common:name'), t('last_run'), t('started_by'), t('enabled')]}>
              {workflows.nodes.map((workflow) => (
                <ListRow
                  key={workflow.id}
                  cells={[
                    <div key="name">
                      <Link
                        to="/p/$organization/$project/workflows/$workflow"
                        params={{ organization, project, workflow: workflow.id }}
                        dir="auto"
                      >
                        {workflow.name}
                      </Link>
                      {workflow.description && (
                        <Text size="sm" c="dimmed" dir="auto" lineClamp={1}>
                          {workflow.description}
                        </Text>
                      )}
                    </div>,
                    <LastRun key="last" workflow={workflow} />,
                    <Text key="by" size="sm" c="dimmed">
                      {t(workflow.webhook_url ? 'by_webhook' : 'by_other')}
                    </Text>,
                    <Switch
                      key="enabled"
                      aria-label={t('enabled_of', { name: workflow.name })}
                      checked={workflow.enabled}
                      disabled={!can('edit_workflows') || enable.isRunning}
                      onChange={(event) => void toggle(workflow, event.currentTarget.checked)}
                    />,
                  ]}
                />
              ))}
            </List>
          )}
          <Pager
            total={workflows.total_count}
            after={search.after}
            page={workflows.page_info}
            onGo={(after) => navigate({ search: (before) => ({ ...before, after }) })}
          />
        </>
      )}
    </>
  );
}
