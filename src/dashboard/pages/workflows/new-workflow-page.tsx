import { Button, Group, Stack, TextInput, Title } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CreateWorkflow } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { usePlace } from '../../lib/place.ts';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { DefinitionEditor } from './definition-editor.tsx';

/** What runs as it is, and shows the form of a definition. */
const beginning = `portico: workflow/1
name: My workflow
steps:
  - id: note
    type: transform
    expression: '{ "received": input.body }'
`;

export function NewWorkflowPage() {
  const { t } = useTranslation(['workflows', 'common']);
  const { organization, project } = usePlace();
  const navigate = useNavigate();
  const create = useCommand(CreateWorkflow);
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [definition, setDefinition] = useState(beginning);
  const submit = async (event?: FormEvent) => {
    event?.preventDefault();
    const input = { name, definition, ...(description !== '' && { description }) };
    const { data } = await create.run({ organization, project, input });
    const id = data?.createWorkflow?.id;
    if (id === undefined) return;
    await navigate({
      to: '/p/$organization/$project/workflows/$workflow',
      params: { organization, project, workflow: id },
      search: { tab: 'triggers' },
    });
  };
  const { fault } = create;
  return (
    <form onSubmit={submit}>
      <Title order={1} mb="lg">
        {t('new_workflow')}
      </Title>
      <Stack gap="md" maw={960}>
        <FaultAlert fault={fault} beside={['/name', '/description']} />
        <TextInput
          label={t('common:name')}
          maw={640}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={fault?.fields.get('/name')}
          data-autofocus
        />
        <TextInput
          label={`${t('description')} (${t('common:optional')})`}
          maw={640}
          value={description}
          onChange={(event) => setDescription(event.currentTarget.value)}
          error={fault?.fields.get('/description')}
        />
        <DefinitionEditor
          label={t('definition')}
          text={definition}
          onChange={setDefinition}
          onSave={() => void submit()}
        />
        <Group gap="xs">
          <Button type="submit" loading={create.isRunning}>
            {t('create')}
          </Button>
          <Button
            variant="default"
            renderRoot={(props) => (
              <Link to="/p/$organization/$project/workflows" params={{ organization, project }} {...props} />
            )}
          >
            {t('common:cancel')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
