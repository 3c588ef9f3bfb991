import { Button, Group } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { ReactNode } from 'react';
import { BringBackMedia } from '../../documents.ts';
import { send } from '../../lib/command.ts';
import { i18n } from '../../lib/i18n.ts';
import type { Place } from '../../lib/place.ts';

/** The message that is shown of each file. */
const shown = new Map<string, string>();

/**
 * A message of what was done to a file, with what takes its commit back by one more. It takes the place of the one before about the same file: two
 * alike do not say which change each takes back. @param onUndone shows the file as it is then
 */
export function showUndo(
  { organization, project, draft }: Place,
  { path, commit }: { path: string; commit: string },
  text: string,
  onUndone: () => void,
): void {
  const file = [organization, project, draft, path].join('\n');
  const before = shown.get(file);
  if (before !== undefined) notifications.hide(before);
  const undo = async () => {
    notifications.hide(id);
    const input = { path, commit, branch: draft ?? null };
    const { fault } = await send(BringBackMedia, { organization, project, input });
    if (fault) notifications.show({ color: 'red', message: fault.message });
    else onUndone();
  };
  const message: ReactNode = (
    <Group justify="space-between">
      <span>{text}</span>
      <Button size="compact-sm" variant="default" onClick={undo}>
        {i18n.t('undo')}
      </Button>
    </Group>
  );
  const id = notifications.show({ autoClose: 10_000, message, onClose: () => shown.delete(file) });
  shown.set(file, id);
}
