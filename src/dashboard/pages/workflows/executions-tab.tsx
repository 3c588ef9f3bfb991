import { Button, Group, Modal, Text, Textarea } from '@mantine/core';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { RunWorkflow } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { useFormats } from '../../lib/format.ts';
import { usePlace } from '../../lib/place.ts';
import { usePolling } from '../../lib/polling.ts';
import { useCan } from '../../lib/viewer.tsx';
import { CommandForm } from '../../parts/command-form.tsx';
import { List, ListRow } from '../../parts/list.tsx';
import { Pager } from '../../parts/pager.tsx';
import { Notice, Waiting } from '../../shell/states.tsx';
import { ExecutionMark } from './execution-mark.tsx';
import classes from './workflows.module.css';
import type { WorkflowTabProps } from './workflows-query.ts';

/** Runs the published version with an input typed as JSON. */
function RunNow({ workflow, onClose, onDone }: { workflow: string; onClose: () => void; onDone: () => void }) {
  const { t } = useTranslation('workflows');
  const { organization, project } = usePlace();
  const run = useCommand(RunWorkflow);
  const [text, setText] = useState('{}');
  const [problem, setProblem] = useState<string | null>(null);
  const submit = async () => {
    let input: unknown;
    try {
      input = text.trim() === '' ? null : JSON.parse(text);
      setProblem(null);
    } catch (error) {
      return setProblem(t('not_json', { message: (error as Error).message }));
    }
    const { fault } = await run.run({ organization, project, input: { workflow, input } });
    if (!fault) onDone();
  };
  return (
    <Modal opened onClose={onClose} title={t('run_now')} size="lg">
      <CommandForm
        submit={t('run_now')}
        onSubmit={() => void submit()}
        isRunning={run.isRunning}
        fault={run.fault}
        beside={['/input']}
        onCancel={onClose}
      >
        <Textarea
          label={t('input')}
          description={t('input_hint')}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          error={problem ?? run.fault?.fields.get('/input')}
          autosize
          minRows={8}
          maxRows={20}
          spellCheck={false}
          classNames={{ input: classes.mono ?? '' }}
          data-autofocus
        />
      </CommandForm>
    </Modal>
  );
}

/** The newest executions, as they go on. */
export function ExecutionsTab({ workflow, refresh, after, onPage }: WorkflowTabProps) {
  const { t } = useTranslation('workflows');
  const { organization, project } = usePlace();
  const { ago, duration } = useFormats();
  const can = useCan(organization, project);
  const [isRunning, setRunning] = useState(false);
  usePolling(after === undefined, refresh);
  const { executions } = workflow;
  if (!executions) return <Waiting />;
  const runNow = can('edit_workflows') && (
    <Button leftSection={<IconPlayerPlay size={16} />} onClick={() => setRunning(true)}>
      {t('run_now')}
    </Button>
  );
  return (
    <>
      {executions.total_count === 0 ? (
        <Notice title={t('no_executions')} action={runNow}>
          {t('no_executions_lead')}
        </Notice>
      ) : (
        <>
          <Group justify="flex-end" mb="sm">
            {runNow}
          </Group>
          <List
            label={t('tab_executions')}
            columns={[t('state'), t('accepted'), t('started_by'), t('took'), t('version_column')]}
          >
            {executions.nodes.map((execution) => (
              <ListRow
                key={execution.id}
                cells={[
                  <div key="state">
                    <ExecutionMark status={execution.status} outcome={execution.outcome} />
                    {execution.error && (
                      <Text size="sm" c="var(--p-bad)" dir="auto" lineClamp={2}>
                        {execution.error.path && `${execution.error.path}: `}
                        {execution.error.message}
                      </Text>
                    )}
                  </div>,
                  ago(execution.created_at),
                  <span key="by" title={execution.started_by ?? undefined}>
                    {t(`type_${execution.trigger.type}`)}
                    {execution.started_by_name !== null && (
                      <>
                        {' · '}
                        <bdi>{execution.started_by_name}</bdi>
                      </>
                    )}
                  </span>,
                  execution.duration_ms === null ? '–' : duration(execution.duration_ms),
                  execution.version,
                ]}
              />
            ))}
          </List>
        </>
      )}
      <Pager total={executions.total_count} after={after} page={executions.page_info} onGo={onPage} />
      {isRunning && (
        <RunNow
          workflow={workflow.id}
          onClose={() => setRunning(false)}
          onDone={() => {
            setRunning(false);
            refresh();
          }}
        />
      )}
    </>
  );
}
