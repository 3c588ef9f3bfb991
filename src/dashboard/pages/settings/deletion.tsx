import { Button, Group, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { DeleteProject, RestoreProject } from '../../documents.ts';
import { send, useCommand } from '../../lib/command.ts';
import { Confirm } from '../../parts/confirm.tsx';

interface DeletionProps {
  place: { organization: string; project: string };
  name: string;
}

/** A deleted project is kept for 30 days, and can be brought back at once. */
export function Deletion({ place, name }: DeletionProps) {
  const { t } = useTranslation(['settings', 'common']);
  const navigate = useNavigate();
  const [isOpen, setOpen] = useState(false);
  const { run, isRunning, fault } = useCommand(DeleteProject);
  const { organization, project } = place;
  const restore = async (id: string) => {
    const { fault } = await send(RestoreProject, { organization, input: { deleted_project: project } });
    notifications.hide(id);
    if (fault) notifications.show({ message: fault.message, color: 'red' });
  };
  const remove = async () => {
    const outcome = await run(place);
    if (outcome.fault) return;
    const id = `deleted-${project}`;
    notifications.show({
      id,
      autoClose: 15_000,
      message: (
        <Group justify="space-between" wrap="nowrap">
          <span>{t('deleted', { name })}</span>
          <Button size="compact-xs" variant="default" onClick={() => restore(id)}>
            {t('common:undo')}
          </Button>
        </Group>
      ),
    });
    navigate({ to: '/o/$organization', params: { organization }, search: {} });
  };
  return (
    <>
      <Text>{t('delete_lead')}</Text>
      <div>
        <Button variant="outline" color="red" onClick={() => setOpen(true)}>
          {t('delete_project')}
        </Button>
      </div>
      {isOpen && (
        <Confirm
          title={t('delete_title', { name })}
          action={t('delete_project')}
          onConfirm={remove}
          onClose={() => setOpen(false)}
          isRunning={isRunning}
          fault={fault}
          typed={project}
        >
          {t('delete_lead')}
        </Confirm>
      )}
    </>
  );
}
