import { Button, Group, Modal, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useQuery } from 'urql';
import { PublishWorkflowVersion, WorkflowVersionSource } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { useFormats } from '../../lib/format.ts';
import { usePlace } from '../../lib/place.ts';
import { useCan } from '../../lib/viewer.tsx';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { List, ListRow } from '../../parts/list.tsx';
import { Mark } from '../../parts/mark.tsx';
import { Pager } from '../../parts/pager.tsx';
import { Waiting } from '../../shell/states.tsx';
import { DefinitionEditor } from './definition-editor.tsx';
import type { WorkflowTabProps } from './workflows-query.ts';

function VersionSource({ workflow, number, onClose }: { workflow: string; number: number; onClose: () => void }) {
  const { t } = useTranslation('workflows');
  const { organization, project } = usePlace();
  const [{ data }] = useQuery({ query: WorkflowVersionSource, variables: { organization, project, workflow, number } });
  const source = data?.project?.workflow?.version_number?.source;
  return (
    <Modal opened onClose={onClose} size={960} title={t('version', { number })}>
      {source === undefined ? (
        <Waiting />
      ) : (
        <DefinitionEditor
          label={t('version', { number })}
          text={source}
          onChange={() => undefined}
          isReadOnly
          workflow={workflow}
        />
      )}
    </Modal>
  );
}

/** All that was ever saved; one version is what new executions run. */
export function VersionsTab({ workflow, refresh, after, onPage }: WorkflowTabProps) {
  const { t } = useTranslation('workflows');
  const { organization, project } = usePlace();
  const { time } = useFormats();
  const can = useCan(organization, project);
  const publish = useCommand(PublishWorkflowVersion);
  const [shown, setShown] = useState<number | null>(null);
  const { versions } = workflow;
  if (!versions) return <Waiting />;
  const publishVersion = async (number: number) => {
    await publish.run({ organization, project, input: { workflow: workflow.id, number } });
    refresh();
  };
  return (
    <>
      <FaultAlert fault={publish.fault} />
      <List label={t('tab_versions')} columns={[t('version_column'), t('saved_at'), t('saved_by'), ` ${t('actions')}`]}>
        {versions.nodes.map(({ number, published, created_at, created_by, created_by_name }) => (
          <ListRow
            key={number}
            cells={[
              <Group key="number" gap="xs">
                <Text fw={600}>{t('version', { number })}</Text>
                {published && <Mark tone="accent">{t('version_published')}</Mark>}
              </Group>,
              time(created_at),
              <bdi key="by" title={created_by}>
                {created_by_name ?? created_by}
              </bdi>,
              <Group key="actions" gap="xs" justify="flex-end">
                <Button
                  size="compact-sm"
                  variant="default"
                  onClick={() => setShown(number)}
                  aria-label={t('show_version', { number })}
                >
                  {t('show')}
                </Button>
                {!published && can('edit_workflows') && (
                  <Button
                    size="compact-sm"
                    variant="default"
                    onClick={() => void publishVersion(number)}
                    disabled={publish.isRunning}
                    aria-label={t('use_version', { number })}
                  >
                    {t('use')}
                  </Button>
                )}
              </Group>,
            ]}
          />
        ))}
      </List>
      <Pager total={versions.total_count} after={after} page={versions.page_info} onGo={onPage} />
      {shown !== null && <VersionSource workflow={workflow.id} number={shown} onClose={() => setShown(null)} />}
    </>
  );
}
