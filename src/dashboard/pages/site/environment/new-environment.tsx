import { Modal, Select, Switch, Text, TextInput } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CreateEnvironment, FindFramework, type FindFrameworkMutation } from '../../../documents.ts';
import { client } from '../../../lib/client.ts';
import { useCommand } from '../../../lib/command.ts';
import { CommandForm } from '../../../parts/command-form.tsx';
import { followDeployment } from '../deployment-task.ts';
import { BranchSelect } from './branch-select.tsx';
import { ExternalFields, HookSecret } from './external-fields.tsx';

interface NewEnvironmentProps {
  at: { organization: string; project: string };
  /** Branch of the published version. */
  published: string;
  onClose: () => void;
  onDone: () => void;
}

type Found = FindFrameworkMutation['detectRoutePatterns'];

/** How a branch is built, as its files say, and where it is shown. */
export function NewEnvironment({ at, published, onClose, onDone }: NewEnvironmentProps) {
  const { t } = useTranslation(['environment', 'site', 'common']);
  const { organization, project } = at;
  const create = useCommand(CreateEnvironment);
  const [name, setName] = useState('');
  const [branch, setBranch] = useState(published);
  const [found, setFound] = useState<Found>(null);
  /** Null: as was found. */
  const [typed, setTyped] = useState<{ command: string | null; output: string | null }>({
    command: null,
    output: null,
  });
  const [isDeployed, setDeployed] = useState(true);
  const [isAutomatic, setAutomatic] = useState(true);
  const [isExternal, setExternal] = useState(false);
  const [externals, setExternals] = useState({ deploy_webhook_url: '', url: '' });
  const [secret, setSecret] = useState<string | null>(null);
  useEffect(() => {
    let isCurrent = true;
    const look = async () => {
      const answer = await client.mutation(FindFramework, { organization, project, input: { branch } }).toPromise();
      const detected = answer.data?.detectRoutePatterns;
      if (!isCurrent || !detected) return;
      setFound(detected);
    };
    void look();
    return () => {
      isCurrent = false;
    };
  }, [organization, project, branch]);
  const { fault } = create;
  const command = typed.command ?? found?.environment_defaults.build_command ?? '';
  const output = typed.output ?? found?.environment_defaults.output_directory ?? '';
  const submit = async () => {
    const build = { output_directory: output, ...(command.trim() !== '' && { build_command: command }) };
    const elsewhere = { provider: 'webhook' as const, ...externals, url: externals.url || null };
    const input = { name, branch, deploy: isDeployed, auto_deploy: isAutomatic, ...(isExternal ? elsewhere : build) };
    const { data, fault } = await create.run({ organization, project, input });
    if (fault) return;
    const deployment = data.createEnvironment?.latest_deployment;
    if (deployment) followDeployment({ organization, project, ...deployment });
    const made = data.createEnvironment?.deploy_hook_secret ?? null;
    if (made === null) onDone();
    else setSecret(made);
  };
  if (secret !== null) return <HookSecret secret={secret} onClose={onDone} />;
  return (
    <Modal opened onClose={onClose} title={t('site:new_environment')} size="lg">
      <CommandForm
        submit={t('create')}
        onSubmit={() => void submit()}
        isRunning={create.isRunning}
        fault={fault}
        beside={[
          ...['/name', '/branch'],
          ...(isExternal ? ['/deploy_webhook_url', '/url'] : ['/build_command', '/output_directory']),
        ]}
        onCancel={onClose}
      >
        <TextInput
          label={t('common:name')}
          placeholder={t('name_example')}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={fault?.fields.get('/name')}
          data-autofocus
        />
        <BranchSelect value={branch} onChange={setBranch} error={fault?.fields.get('/branch')} />
        <Select
          label={t('provider')}
          data={[
            { value: 'here', label: t('provider_here') },
            { value: 'webhook', label: t('provider_webhook') },
          ]}
          value={isExternal ? 'webhook' : 'here'}
          onChange={(value) => setExternal(value === 'webhook')}
        />
        {isExternal ? (
          <ExternalFields
            values={externals}
            change={(part) => setExternals((before) => ({ ...before, ...part }))}
            fault={fault}
          />
        ) : (
          <>
            <Text size="sm" c="dimmed" role="status">
              {found?.framework
                ? t('framework', { name: `${found.framework.id} ${found.framework.version ?? ''}`.trim() })
                : found && t('no_framework')}
            </Text>
            <TextInput
              label={t('build_command')}
              description={t('build_command_new_hint')}
              value={command}
              onChange={(event) => setTyped({ ...typed, command: event.currentTarget.value })}
              error={fault?.fields.get('/build_command')}
              spellCheck={false}
            />
            <TextInput
              label={t('output_directory')}
              description={t('output_directory_hint')}
              value={output}
              onChange={(event) => setTyped({ ...typed, output: event.currentTarget.value })}
              error={fault?.fields.get('/output_directory')}
              spellCheck={false}
            />
          </>
        )}
        <Switch
          label={t('deploy_at_once')}
          description={t('deploy_at_once_hint')}
          checked={isDeployed}
          onChange={(event) => setDeployed(event.currentTarget.checked)}
        />
        <Switch
          label={t('auto_deploy')}
          description={t('auto_deploy_hint')}
          checked={isAutomatic}
          onChange={(event) => setAutomatic(event.currentTarget.checked)}
        />
      </CommandForm>
    </Modal>
  );
}
