import { Button, Group, Modal, PasswordInput, Text, TextInput } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { DeleteWorkflowSecret, PutWorkflowSecret } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { useFormats } from '../../lib/format.ts';
import { usePlace } from '../../lib/place.ts';
import { useCan } from '../../lib/viewer.tsx';
import { CommandForm } from '../../parts/command-form.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { List, ListRow } from '../../parts/list.tsx';
import { Notice, Waiting } from '../../shell/states.tsx';
import type { WorkflowTabProps } from './workflows-query.ts';

interface SetSecretProps {
  workflow: string;
  /** Of the secret that gets another value; null: a new one. */
  name: string | null;
  onClose: () => void;
  onDone: () => void;
}

function SetSecret({ workflow, name: fixed, onClose, onDone }: SetSecretProps) {
  const { t } = useTranslation(['workflows', 'common']);
  const { organization, project } = usePlace();
  const put = useCommand(PutWorkflowSecret);
  const [name, setName] = useState(fixed ?? '');
  const [value, setValue] = useState('');
  const submit = async () => {
    const { fault } = await put.run({ organization, project, input: { workflow, name, value } });
    if (!fault) onDone();
  };
  return (
    <Modal opened onClose={onClose} title={fixed === null ? t('new_secret') : t('set_secret', { name: fixed })}>
      <CommandForm
        submit={t('common:save')}
        onSubmit={() => void submit()}
        isRunning={put.isRunning}
        fault={put.fault}
        beside={['/name', '/value']}
        onCancel={onClose}
      >
        {fixed === null && (
          <TextInput
            label={t('common:name')}
            description={t('secret_name_hint')}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={put.fault?.fields.get('/name')}
            autoComplete="off"
            spellCheck={false}
            data-autofocus
          />
        )}
        <PasswordInput
          label={t('value')}
          description={t('secret_value_hint')}
          value={value}
          onChange={(event) => setValue(event.currentTarget.value)}
          error={put.fault?.fields.get('/value')}
          autoComplete="off"
          data-autofocus={fixed !== null || undefined}
        />
      </CommandForm>
    </Modal>
  );
}

/** Values that `http` steps may use; they are written and never read back. */
export function SecretsTab({ workflow, refresh }: WorkflowTabProps) {
  const { t } = useTranslation(['workflows', 'common']);
  const { organization, project } = usePlace();
  const { ago } = useFormats();
  const can = useCan(organization, project);
  const remove = useCommand(DeleteWorkflowSecret);
  const [set, setSet] = useState<{ name: string | null } | null>(null);
  const [removed, setRemoved] = useState<string | null>(null);
  const secrets = workflow.secrets?.nodes;
  if (!secrets) return <Waiting />;
  const isAllowed = can('manage_workflows');
  const add = isAllowed && (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setSet({ name: null })}>
      {t('new_secret')}
    </Button>
  );
  const confirmRemove = async (name: string) => {
    const { fault } = await remove.run({ organization, project, input: { workflow: workflow.id, name } });
    if (fault) return;
    setRemoved(null);
    refresh();
  };
  return (
    <>
      {secrets.length === 0 ? (
        <Notice title={t('no_secrets')} action={add}>
          {t('no_secrets_lead')}
        </Notice>
      ) : (
        <>
          <Group justify="space-between" mb="sm">
            <Text c="dimmed">{t('secrets_lead')}</Text>
            {add}
          </Group>
          <List label={t('tab_secrets')} columns={[t('common:name'), t('written'), ` ${t('actions')}`]}>
            {secrets.map(({ name, updated_at }) => (
              <ListRow
                key={name}
                cells={[
                  <code key="name">{name}</code>,
                  ago(updated_at),
                  isAllowed && (
                    <Group key="actions" gap="xs" justify="flex-end">
                      <Button
                        size="compact-sm"
                        variant="default"
                        onClick={() => setSet({ name })}
                        aria-label={t('set_secret', { name })}
                      >
                        {t('set')}
                      </Button>
                      <Button
                        size="compact-sm"
                        variant="default"
                        onClick={() => setRemoved(name)}
                        aria-label={t('delete_secret', { name })}
                      >
                        {t('common:delete')}
                      </Button>
                    </Group>
                  ),
                ]}
              />
            ))}
          </List>
        </>
      )}
      {set && (
        <SetSecret
          workflow={workflow.id}
          name={set.name}
          onClose={() => setSet(null)}
          onDone={() => {
            setSet(null);
            refresh();
          }}
        />
      )}
      {removed !== null && (
        <Confirm
          title={t('delete_secret', { name: removed })}
          action={t('common:delete')}
          onConfirm={() => void confirmRemove(removed)}
          onClose={() => setRemoved(null)}
          isRunning={remove.isRunning}
          fault={remove.fault}
        >
          {t('delete_secret_lead')}
        </Confirm>
      )}
    </>
  );
}
