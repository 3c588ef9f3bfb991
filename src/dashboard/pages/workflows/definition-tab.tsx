import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useBlocker } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { UpdateWorkflow, WorkflowNow } from '../../documents.ts';
import { client } from '../../lib/client.ts';
import { useCommand } from '../../lib/command.ts';
import { usePlace } from '../../lib/place.ts';
import { useCan } from '../../lib/viewer.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { DefinitionEditor } from './definition-editor.tsx';
import type { WorkflowTabProps } from './workflows-query.ts';

/** What is stored, when somebody has saved since the text was opened. */
interface Newer {
  version: number;
  source: string;
}

export function DefinitionTab({ workflow, refresh }: WorkflowTabProps) {
  const { t } = useTranslation(['workflows', 'common']);
  const { organization, project } = usePlace();
  const can = useCan(organization, project);
  const update = useCommand(UpdateWorkflow);
  const [base, setBase] = useState({ version: workflow.latest_version, source: workflow.source });
  const [text, setText] = useState(workflow.source);
  const [newer, setNewer] = useState<Newer | null>(null);
  const [saved, setSaved] = useState<{ version: number; warnings: readonly { message: string }[] } | null>(null);
  const isChanged = text !== base.source;
  const leaving = useBlocker({ shouldBlockFn: () => isChanged, enableBeforeUnload: isChanged, withResolver: true });

  const save = async () => {
    if (!isChanged || update.isRunning) return;
    setSaved(null);
    const input = { workflow: workflow.id, definition: text, base_version: base.version };
    const { data, fault } = await update.run({ organization, project, input });
    const stored = data?.updateWorkflow;
    if (stored) {
      setBase({ version: stored.latest_version, source: text });
      setNewer(null);
      setSaved({ version: stored.latest_version, warnings: stored.warnings ?? [] });
      return refresh();
    }
    if (fault?.code !== 'CONFLICT') return;
    const variables = { organization, project, workflow: workflow.id };
    const now = await client.query(WorkflowNow, variables, { requestPolicy: 'network-only' }).toPromise();
    const found = now.data?.project?.workflow;
    if (found) setNewer({ version: found.latest_version, source: found.source });
  };
  const takeTheirs = () => {
    if (!newer) return;
    setBase(newer);
    setText(newer.source);
    setNewer(null);
    update.reset();
    refresh();
  };
  const keepMine = () => {
    if (!newer) return;
    setBase(newer);
    setNewer(null);
    update.reset();
  };
  return (
    <Stack gap="md" maw={960}>
      {newer ? (
        <Alert color="yellow" role="alert" title={t('conflict', { version: newer.version })}>
          <Text size="sm" mb="sm">
            {t('conflict_lead')}
          </Text>
          <Group gap="xs">
            <Button variant="default" size="xs" onClick={takeTheirs}>
              {t('take_theirs')}
            </Button>
            <Button variant="default" size="xs" onClick={keepMine}>
              {t('keep_mine')}
            </Button>
          </Group>
        </Alert>
      ) : (
        <FaultAlert fault={update.fault} />
      )}
      <DefinitionEditor
        label={t('definition')}
        text={text}
        onChange={setText}
        isReadOnly={!can('edit_workflows')}
        workflow={workflow.id}
        onSave={() => void save()}
      />
      {can('edit_workflows') && (
        <Group gap="sm">
          <Button onClick={() => void save()} loading={update.isRunning} disabled={!isChanged || newer !== null}>
            {t('common:save')}
          </Button>
          <Text size="sm" c="dimmed" role="status">
            {isChanged ? t('unsaved') : saved ? t('saved_version', { version: saved.version }) : ''}
          </Text>
        </Group>
      )}
      {saved && saved.warnings.length > 0 && (
        <Alert color="yellow" title={t('warnings')}>
          {saved.warnings.map(({ message }) => (
            <Text key={message} size="sm">
              {message}
            </Text>
          ))}
        </Alert>
      )}
      {leaving.status === 'blocked' && (
        <Confirm title={t('leave_title')} action={t('leave')} onConfirm={leaving.proceed} onClose={leaving.reset}>
          {t('leave_lead')}
        </Confirm>
      )}
    </Stack>
  );
}
