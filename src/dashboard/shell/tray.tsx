import { ActionIcon, Button, Group, Indicator, Popover, Progress, Stack, Text } from '@mantine/core';
import { IconProgress } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { dismissTasks, type Task, useTasks } from '../lib/tasks.ts';

function TaskRow({ task }: { task: Task }) {
  const { t } = useTranslation(['frame', 'common', 'session']);
  const state = task.state !== 'running' && (
    <Text span size="xs" flex="none" c={task.state === 'failed' ? 'var(--p-bad)' : 'dimmed'} role="status">
      {t(`task_${task.state}`)}
    </Text>
  );
  const action = task.state === 'running' ? task.cancel : task.retry;
  return (
    <Stack gap={4}>
      <Group justify="space-between" align="start" wrap="nowrap" gap="xs">
        <Text size="sm" miw={0} style={{ overflowWrap: 'anywhere' }}>
          {task.link ? <a href={task.link}>{task.title}</a> : task.title}
        </Text>
        {action ? (
          <Button size="compact-xs" variant="default" flex="none" onClick={action}>
            {t(task.state === 'running' ? 'common:cancel' : 'common:retry')}
          </Button>
        ) : (
          state
        )}
      </Group>
      {task.state === 'running' && (
        <Progress
          value={(task.progress ?? 1) * 100}
          animated={task.progress === null}
          aria-label={task.title}
          size="sm"
        />
      )}
      {(task.retry || task.detail) && (
        <Text size="xs" c="dimmed">
          {task.retry && state} {task.detail}
        </Text>
      )}
    </Stack>
  );
}

/** Long work of this tab, whatever page it was begun on. */
export function Tray() {
  const { t } = useTranslation(['frame', 'common', 'session']);
  const tasks = useTasks();
  const count = (wanted: Task['state']) => tasks.filter(({ state }) => state === wanted).length;
  const [running, failed] = [count('running'), count('failed')];
  if (tasks.length === 0) return null;
  const name =
    running > 0
      ? t('tasks', { count: running })
      : failed > 0
        ? t('tasks_failed', { count: failed })
        : t('tasks_ended', { count: tasks.length });
  return (
    <Popover width={320} position="bottom-end">
      <Indicator label={running} disabled={running === 0} size={16}>
        <Popover.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={name}>
            <IconProgress size={18} />
          </ActionIcon>
        </Popover.Target>
      </Indicator>
      <Popover.Dropdown>
        <Stack gap="sm">
          {tasks.map((task) => (
            <TaskRow key={task.id} task={task} />
          ))}
          <Button size="compact-xs" variant="subtle" onClick={dismissTasks}>
            {t('clear_tasks')}
          </Button>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
