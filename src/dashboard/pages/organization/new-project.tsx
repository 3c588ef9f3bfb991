import { Modal, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CreateProject } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { followImport } from '../../lib/import-task.ts';
import { CommandForm } from '../../parts/command-form.tsx';

/** A project with a repository of its own: empty, or with what stands in another one. */
export function NewProject({ organization, onClose }: { organization: string; onClose: () => void }) {
  const { t } = useTranslation('organization');
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [url, setUrl] = useState('');
  const { run, isRunning, fault } = useCommand(CreateProject);
  const create = async () => {
    const { data } = await run({ organization, input: { name, ...(url.trim() !== '' && { import_url: url.trim() }) } });
    const made = data?.createProject;
    if (!made?.machine_name) return;
    onClose();
    const project = made.machine_name;
    const wanted = url.trim();
    if (wanted !== '') void followImport({ organization, project, name, input: { url: wanted } });
    else navigate({ to: '/p/$organization/$project', params: { organization, project } });
  };
  return (
    <Modal opened onClose={onClose} title={t('new_project')}>
      <CommandForm
        submit={t('create_project')}
        onSubmit={create}
        onCancel={onClose}
        isRunning={isRunning}
        fault={fault}
        beside={['/name', '/import_url']}
      >
        <TextInput
          label={t('project')}
          description={t('project_hint')}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={fault?.fields.get('/name')}
          data-autofocus
        />
        <TextInput
          label={t('repository_url')}
          description={t('repository_url_hint')}
          placeholder="https://github.com/acme/site.git"
          type="url"
          inputMode="url"
          value={url}
          onChange={(event) => setUrl(event.currentTarget.value)}
          error={fault?.fields.get('/import_url')}
        />
      </CommandForm>
    </Modal>
  );
}
