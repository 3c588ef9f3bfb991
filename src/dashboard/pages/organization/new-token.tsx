import { Checkbox, Modal, Select, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CreateToken, type Permission, type Role } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { CommandForm } from '../../parts/command-form.tsx';
import { PermissionTable, type ProjectChoices, ProjectsField } from './rights-fields.tsx';
import type { Access } from './shown-access.tsx';

const presets = ['readonly', 'editor', 'admin', 'custom'] as const;
/** What programs that act through tools may do beyond the permissions. */
const toolRights = ['publish', 'all_operations'] as const;
const lives = ['30d', '90d', '365d', 'never'] as const;

interface NewTokenProps {
  organization: string;
  projects: ProjectChoices;
  onClose: () => void;
  onMade: (shown: Access) => void;
}

/** What a token may do, where, and how long. */
export function NewToken({ organization, projects, onClose, onMade }: NewTokenProps) {
  const { t } = useTranslation(['organization', 'common']);
  const [name, setName] = useState('');
  const [preset, setPreset] = useState<Role | 'custom'>('editor');
  const [permissions, setPermissions] = useState<Permission[]>([]);
  const [confined, setConfined] = useState<string[]>([]);
  const [life, setLife] = useState<string>('90d');
  const [tools, setTools] = useState({ publish: false, all_operations: false });
  const { run, isRunning, fault } = useCommand(CreateToken);
  const create = async () => {
    const input = {
      name,
      expires_in: life,
      mcp: tools,
      ...(preset === 'custom' ? { permissions } : { preset }),
      ...(confined.length > 0 && { projects: confined }),
    };
    const { data } = await run({ organization, input });
    const made = data?.createToken;
    if (made) onMade({ kind: 'token', name, value: made.token, expires_at: made.expires_at });
  };
  return (
    <Modal opened onClose={onClose} title={t('new_token')} size="lg">
      <CommandForm
        submit={t('create_token')}
        onSubmit={create}
        onCancel={onClose}
        isRunning={isRunning}
        fault={fault}
        beside={['/name', '/projects']}
      >
        <TextInput
          label={t('common:name')}
          description={t('token_name_hint')}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={fault?.fields.get('/name')}
          data-autofocus
        />
        <Select
          label={t('token_rights')}
          description={t(`role_${preset}_hint`)}
          data={presets.map((value) => ({ value, label: t(`role_${value}`) }))}
          value={preset}
          onChange={(value) => setPreset(value as Role | 'custom')}
        />
        {preset === 'custom' && (
          <PermissionTable organization={organization} holder={null} value={permissions} onChange={setPermissions} />
        )}
        <ProjectsField
          projects={projects}
          value={confined}
          onChange={setConfined}
          error={fault?.fields.get('/projects')}
        />
        <Select
          label={t('token_life')}
          data={lives.map((value) => ({ value, label: t(`life_${value}`) }))}
          value={life}
          onChange={(value) => setLife(value ?? '90d')}
        />
        <Checkbox.Group
          label={t('token_tools')}
          description={t('token_tools_hint')}
          value={toolRights.filter((right) => tools[right])}
          onChange={(chosen) =>
            setTools({ publish: chosen.includes('publish'), all_operations: chosen.includes('all_operations') })
          }
        >
          {toolRights.map((right) => (
            <Checkbox
              key={right}
              value={right}
              mt="xs"
              label={t(`tools_${right}`)}
              description={t(`tools_${right}_hint`)}
            />
          ))}
        </Checkbox.Group>
      </CommandForm>
    </Modal>
  );
}
