import { Autocomplete, Select, Switch, TagsInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { UpdateRepository } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { usePlace } from '../../lib/place.ts';
import { useCan } from '../../lib/viewer.tsx';
import { CommandForm } from '../../parts/command-form.tsx';
import { projectQuery } from '../../shell/project-query.ts';
import classes from './publishing-form.module.css';
import type { SectionProps, Studio } from './settings-query.ts';

interface PublishingFormProps extends SectionProps {
  branches: string[];
  /** Directories that are sites of their own. */
  roots: NonNullable<Studio['content_roots']>['nodes'];
}

/** Which branch is published, which are protected, and where the site lies. */
export function PublishingForm({ place, repository, branches, roots, onChanged }: PublishingFormProps) {
  const { t } = useTranslation(['settings', 'common']);
  const environments = usePageQuery(projectQuery(usePlace())).data?.project?.studio.environments?.nodes ?? [];
  const can = useCan(place.organization, place.project);
  const before = {
    default_branch: repository.default_branch,
    protected_branches: repository.settings.protected_branches,
    require_pull: repository.settings.require_pull,
    publish_checks: repository.settings.publish_checks,
    draft_preview: repository.settings.draft_preview,
    content_root: repository.content_root,
  };
  const [draft, setDraft] = useState(before);
  const { run, isRunning, fault } = useCommand(UpdateRepository);
  const change = (part: Partial<typeof before>) => setDraft({ ...draft, ...part });
  // It means nothing where no branch is protected.
  const setRequirePull = (require_pull: boolean) =>
    change({
      require_pull,
      ...(require_pull && draft.protected_branches.length === 0 && { protected_branches: [draft.default_branch] }),
    });
  const changed = Object.entries(draft).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof typeof before]),
  );
  const save = async () => {
    const outcome = await run({ ...place, input: Object.fromEntries(changed) });
    if (outcome.fault) return;
    notifications.show({ message: t('common:saved') });
    onChanged();
  };
  return (
    <fieldset disabled={!can('manage_studio')} className={classes.bare}>
      <CommandForm
        submit={t('common:save')}
        onSubmit={save}
        isRunning={isRunning}
        fault={fault}
        beside={['/default_branch', '/protected_branches', '/draft_preview', '/content_root']}
        isUnchanged={changed.length === 0}
      >
        <Select
          label={t('default_branch')}
          description={t('default_branch_hint')}
          data={branches}
          value={draft.default_branch}
          onChange={(value) => value && change({ default_branch: value })}
          error={fault?.fields.get('/default_branch')}
          searchable
        />
        <TagsInput
          label={t('protected_branches')}
          description={t('protected_branches_hint')}
          data={branches.filter((name) => !draft.protected_branches.includes(name))}
          value={draft.protected_branches}
          onChange={(value) => change({ protected_branches: value })}
          error={fault?.fields.get('/protected_branches')}
        />
        <Switch
          label={t('require_pull')}
          description={t('require_pull_hint')}
          checked={draft.require_pull}
          onChange={(event) => setRequirePull(event.currentTarget.checked)}
        />
        <Select
          label={t('publish_checks')}
          description={t('publish_checks_hint')}
          data={(['warn', 'block'] as const).map((value) => ({ value, label: t(`publish_checks_${value}`) }))}
          value={draft.publish_checks}
          onChange={(value) => change({ publish_checks: value as typeof draft.publish_checks })}
        />
        <Select
          label={t('draft_preview')}
          description={t('draft_preview_hint')}
          placeholder={t('draft_preview_none')}
          data={environments
            .filter((one) => !one.draft_preview && one.provider !== 'webhook')
            .map(({ id, name }) => ({ value: String(id), label: name }))}
          value={draft.draft_preview === null ? null : String(draft.draft_preview)}
          onChange={(value) => change({ draft_preview: value === null ? null : Number(value) })}
          error={fault?.fields.get('/draft_preview')}
          clearable
          clearButtonProps={{ 'aria-label': t('draft_preview_clear') }}
        />
        <Autocomplete
          label={t('content_root')}
          description={t('content_root_hint')}
          placeholder={t('content_root_found')}
          value={draft.content_root ?? ''}
          data={roots.map(({ path }) => path).filter((path) => path !== '')}
          renderOption={({ option: { value } }) => {
            const root = roots.find(({ path }) => path === value);
            return root ? t('content_root_option', { path: value, count: root.files }) : value;
          }}
          onChange={(value) => change({ content_root: value === '' ? null : value })}
          error={fault?.fields.get('/content_root')}
        />
      </CommandForm>
    </fieldset>
  );
}
