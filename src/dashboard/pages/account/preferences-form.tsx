import { Input, SegmentedControl, Select, Stack } from '@mantine/core';
import { useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Theme } from '../../documents.ts';
import type { Fault } from '../../lib/faults.ts';
import { i18n, languages } from '../../lib/i18n.ts';
import { useSavePreferences } from '../../lib/preferences.ts';
import { useViewer } from '../../lib/viewer.tsx';
import { FaultAlert } from '../../parts/fault-alert.tsx';

const themes: readonly Theme[] = ['system', 'light', 'dark'];
const zones = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')];
const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Each choice is kept as it is made. */
export function PreferencesForm() {
  const { t } = useTranslation('account');
  const { me } = useViewer();
  const save = useSavePreferences();
  const [fault, setFault] = useState<Fault | null>(null);
  const themeLabel = useId();
  const choose = async (change: Parameters<typeof save>[0]) => setFault((await save(change)).fault);
  const { time_zone, theme } = me?.preferences ?? {};
  return (
    <Stack>
      <FaultAlert fault={fault} />
      <Select
        label={t('language')}
        data={Object.entries(languages).map(([value, label]) => ({ value, label }))}
        value={i18n.language}
        onChange={(language) => choose({ language })}
      />
      <Select
        label={t('time_zone')}
        description={time_zone ? undefined : t('time_zone_hint', { zone: ownZone })}
        placeholder={ownZone}
        data={zones}
        value={time_zone ?? null}
        onChange={(zone) => choose({ time_zone: zone })}
        searchable
        clearable
        allowDeselect
        limit={100}
      />
      <Stack gap={4} align="flex-start">
        <Input.Label component="div" id={themeLabel}>
          {t('theme')}
        </Input.Label>
        <SegmentedControl
          aria-labelledby={themeLabel}
          data={themes.map((value) => ({ value, label: t(`theme_${value}`) }))}
          value={theme ?? 'system'}
          onChange={(value) => choose({ theme: value as Theme })}
        />
      </Stack>
    </Stack>
  );
}
