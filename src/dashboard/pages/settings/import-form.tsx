import { Checkbox, PasswordInput, Select, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ImportRepository } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { followImport } from '../../lib/import-task.ts';
import { CommandForm } from '../../parts/command-form.tsx';
import type { SectionProps } from './settings-query.ts';

const kinds = ['none', 'token', 'basic', 'ssh_key'] as const;
type Kind = (typeof kinds)[number];

/** What each kind of credentials consists of. */
const parts: Record<Kind, readonly ('token' | 'username' | 'password' | 'private_key')[]> = {
  none: [],
  token: ['token'],
  basic: ['username', 'password'],
  ssh_key: ['private_key'],
};

/** Fills an empty repository with what stands in another one. */
export function ImportForm({ place, repository, onChanged }: SectionProps) {
  const { t } = useTranslation('settings');
  const [url, setUrl] = useState(repository.import?.url ?? '');
  const [kind, setKind] = useState<Kind>('none');
  const [secrets, setSecrets] = useState<Record<string, string>>({});
  const [isMirror, setMirror] = useState(false);
  const { run, isRunning, fault } = useCommand(ImportRepository);
  const begin = async () => {
    const auth = { kind, ...Object.fromEntries(parts[kind].map((name) => [name, secrets[name] ?? ''])) };
    const input = { url: url.trim(), auth, mode: isMirror ? ('remote' as const) : ('hosted' as const) };
    const outcome = await run({ ...place, input });
    if (outcome.fault) return;
    const { organization, project } = place;
    void followImport({ organization, project, name: project, input });
    onChanged();
  };
  const fields = parts[kind].map((name) => {
    const shared = {
      label: t(`auth_${name}`),
      value: secrets[name] ?? '',
      error: fault?.fields.get(`/auth/${name}`),
      onChange: ({ currentTarget: { value } }: { currentTarget: { value: string } }) =>
        setSecrets((before) => ({ ...before, [name]: value })),
      autoComplete: 'off',
    };
    if (name === 'username') return <TextInput key={name} {...shared} />;
    if (name === 'private_key') return <Textarea key={name} rows={6} spellCheck={false} {...shared} />;
    return <PasswordInput key={name} {...shared} />;
  });
  return (
    <CommandForm
      submit={t('import')}
      onSubmit={begin}
      isRunning={isRunning}
      fault={fault}
      beside={['/url', ...parts[kind].map((name) => `/auth/${name}`)]}
      isUnchanged={url.trim() === ''}
    >
      <TextInput
        label={t('import_url')}
        description={t('import_url_hint')}
        placeholder="https://github.com/acme/site.git"
        inputMode="url"
        value={url}
        onChange={(event) => setUrl(event.currentTarget.value)}
        error={fault?.fields.get('/url')}
      />
      <Select
        label={t('auth')}
        description={t('auth_hint')}
        data={kinds.map((value) => ({ value, label: t(`auth_kind_${value}`) }))}
        value={kind}
        onChange={(value) => setKind(value as Kind)}
      />
      {fields}
      <Checkbox
        label={t('keep_mirror')}
        description={t('keep_mirror_hint')}
        checked={isMirror}
        onChange={(event) => setMirror(event.currentTarget.checked)}
      />
    </CommandForm>
  );
}
