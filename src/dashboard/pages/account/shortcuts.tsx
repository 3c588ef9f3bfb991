import { Stack, Switch } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useSavePreferences, useSingleKeys } from '../../lib/preferences.ts';
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
    </Stack>
  );
}
