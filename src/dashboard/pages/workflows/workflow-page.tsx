/** A workflow: what it does, what starts it, how it went, its versions and its secrets. */
import { Anchor, Button, Group, Menu, Switch, Tabs, Text, Title } from '@mantine/core';
import { IconDots } from '@tabler/icons-react';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type FunctionComponent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { DeleteWorkflow, SetWorkflowEnabled } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { usePlace } from '../../lib/place.ts';
import { useCan } from '../../lib/viewer.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { Failure, Waiting } from '../../shell/states.tsx';
import { DefinitionTab } from './definition-tab.tsx';
import { ExecutionsTab } from './executions-tab.tsx';
import { SecretsTab } from './secrets-tab.tsx';
import { TriggersTab } from './triggers-tab.tsx';
import { VersionsTab } from './versions-tab.tsx';
import classes from './workflows.module.css';
import { type WorkflowTab, type WorkflowTabProps, workflowQuery, workflowTabs } from './workflows-query.ts';

const panels: Record<WorkflowTab, FunctionComponent<WorkflowTabProps>> = {
  definition: DefinitionTab,
  triggers: TriggersTab,
  executions: ExecutionsTab,
  versions: VersionsTab,
  secrets: SecretsTab,
};

export function WorkflowPage() {
  const { t } = useTranslation(['workflows', 'common']);
  const { organization, project } = usePlace();
  const { workflow: id } = useParams({ from: '/inside/p/$organization/$project/workflows/$workflow' });
  const search = useSearch({ from: '/inside/p/$organization/$project/workflows/$workflow' });
  const navigate = useNavigate({ from: '/p/$organization/$project/workflows/$workflow' });
  const can = useCan(organization, project);
  const { data, fault, refresh } = usePageQuery(workflowQuery({ organization, project, workflow: id }, search));
  const enable = useCommand(SetWorkflowEnabled);
  const remove = useCommand(DeleteWorkflow);
  const [isDeleting, setDeleting] = useState(false);
  const workflow = data?.project?.workflow;
  if (fault && !workflow) return <Failure fault={fault} onRetry={refresh} order={1} />;
  const tab = search.tab ?? 'definition';
  const Panel = panels[tab];
  const toggle = async (enabled: boolean) => {
    await enable.run({ organization, project, input: { workflow: id, enabled } });
    refresh();
  };
  const confirmDelete = async () => {
    const outcome = await remove.run({ organization, project, input: { workflow: id } });
    if (!outcome.fault) await navigate({ to: '/p/$organization/$project/workflows', search: {} });
  };
  return (
    <>
      <Anchor
        size="sm"
        className={classes.up ?? ''}
        renderRoot={(props) => (
          <Link to="/p/$organization/$project/workflows" params={{ organization, project }} {...props} />
        )}
      >
        {t('title')}
      </Anchor>
      {!workflow ? (
        <Waiting />
      ) : (
        <>
          <Group justify="space-between" mb="xs" gap="sm">
            <Title order={1} dir="auto">
              {workflow.name}
            </Title>
            <Group gap="sm">
              <Switch
                label={t('enabled')}
                checked={workflow.enabled}
                disabled={!can('edit_workflows') || enable.isRunning}
                onChange={(event) => void toggle(event.currentTarget.checked)}
              />
              {can('delete_workflows') && (
                <Menu position="bottom-end">
                  <Menu.Target>
                    <Button variant="default" px="xs" aria-label={t('common:actions_for', { name: workflow.name })}>
                      <IconDots size={16} />
                    </Button>
                  </Menu.Target>
                  <Menu.Dropdown>
                    <Menu.Item color="var(--p-bad)" onClick={() => setDeleting(true)}>
                      {t('delete_workflow')}
                    </Menu.Item>
                  </Menu.Dropdown>
                </Menu>
              )}
            </Group>
          </Group>
          {workflow.description && (
            <Text c="dimmed" dir="auto" mb="sm">
              {workflow.description}
            </Text>
          )}
          <FaultAlert fault={enable.fault} />
          <Tabs
            value={tab}
            keepMounted={false}
            onChange={(next) =>
              navigate({ search: (before) => ({ draft: before.draft, tab: (next as WorkflowTab) ?? undefined }) })
            }
          >
            <Tabs.List aria-label={t('parts')}>
              {workflowTabs.map((name) => (
                <Tabs.Tab key={name} value={name}>
                  {t(`tab_${name}`)}
                </Tabs.Tab>
              ))}
            </Tabs.List>
            <Tabs.Panel value={tab} pt="lg">
              <Panel
                workflow={workflow}
                refresh={refresh}
                after={search.after}
                onPage={(after) => navigate({ search: (before) => ({ ...before, after }) })}
              />
            </Tabs.Panel>
          </Tabs>
          {isDeleting && (
            <Confirm
              title={t('delete_title', { name: workflow.name })}
              action={t('common:delete')}
              onConfirm={() => void confirmDelete()}
              onClose={() => setDeleting(false)}
              isRunning={remove.isRunning}
              fault={remove.fault}
            >
              {t('delete_lead')}
            </Confirm>
          )}
        </>
      )}
    </>
  );
}
