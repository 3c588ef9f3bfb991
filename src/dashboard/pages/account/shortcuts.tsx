import { Input, SegmentedControl, Stack, Switch } from '@mantine/core';
import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import { keySets, useKeySet, useSavePreferences, useSingleKeys } from '../../lib/preferences.ts';
import { useViewer } from '../../lib/viewer.tsx';
import classes from './account-page.module.css';

const shortcuts = [
  ['Ctrl K', 'key_search'],
  ['/', 'key_search'],
  ['Ctrl S', 'key_save'],
  ['Esc Tab', 'key_leave'],
] as const;

export function Shortcuts() {
  const { t } = useTranslation('account');
  const { me } = useViewer();
  const isOn = useSingleKeys();
  const keySet = useKeySet();
  const [keysLabel, keysHint] = [useId(), useId()];
  const save = useSavePreferences();
  const editor = (me?.preferences?.editor ?? {}) as object;
  return (
    <Stack>
      <table className={classes.shortcuts}>
        <caption className="unseen">{t('shortcuts')}</caption>
        <tbody>
          {shortcuts.map(([keys, does]) => (
            <tr key={keys}>
              <th scope="row">{t(does)}</th>
              <td>
                <kbd>{keys}</kbd>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <Switch
        label={t('single_keys')}
        description={t('single_keys_hint')}
        checked={isOn}
        onChange={(event) => save({ editor: { ...editor, single_keys: event.currentTarget.checked } })}
      />
      <Stack gap={4} align="flex-start">
        <Input.Label component="div" id={keysLabel}>
          {t('editor_keys')}
        </Input.Label>
        <Input.Description id={keysHint}>{t('editor_keys_hint')}</Input.Description>
        <SegmentedControl
          aria-labelledby={keysLabel}
          aria-describedby={keysHint}
          data={keySets.map((value) => ({ value, label: t(`editor_keys_${value}`) }))}
          value={keySet}
          onChange={(keys) => save({ editor: { ...editor, keys } })}
        />
      </Stack>
    </Stack>
  );
}
