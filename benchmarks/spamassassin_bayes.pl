# The Bayes classifier of SpamAssassin by itself: learns a list of mails, as sa-learn does, and
# prints what the classifier says of others, without the other rules.
#
#     perl spamassassin_bayes.pl FOLDER LEARN ASK
#
# FOLDER is for its database; LEARN has lines "1<tab>path" (spam) and "0<tab>path", ASK has paths.
# A line for each of them: its probability of spam, or - where it says nothing. The rule that it
# keeps silent below 200 spam and 200 ham mails is lifted.
use strict;
use warnings;
use Mail::SpamAssassin;
use Mail::SpamAssassin::PerMsgStatus;

my ($folder, $learn, $ask) = @ARGV;
my $filter = Mail::SpamAssassin->new({
    dont_copy_prefs => 1, local_tests_only => 1, require_rules => 0, userstate_dir => $folder,
    rules_filename => "$folder/none", site_rules_filename => "$folder/none",
    userprefs_filename => "$folder/none",
    config_text => "loadplugin Mail::SpamAssassin::Plugin::Bayes\nbayes_path $folder/bayes\n"
        . "bayes_auto_learn 0\nbayes_min_ham_num 1\nbayes_min_spam_num 1\nlock_method flock\n",
});
$filter->init(1);
$filter->init_learner({ wait_for_lock => 1, caller_will_untie => 1 });
open(my $given, '<', $learn) or die "$learn: $!";
while (<$given>) {
    chomp;
    my ($is_spam, $path) = split /\t/;
    my $mail = message($path);
    $filter->learn($mail, undef, $is_spam, 0);
    $mail->finish();
}
$filter->rebuild_learner_caches();
$filter->finish_learner();
my ($bayes) = grep { ref($_) =~ /Plugin::Bayes$/ } @{ $filter->{plugins}->{plugins} };
open(my $asked, '<', $ask) or die "$ask: $!";
while (<$asked>) {
    chomp;
    my $mail = message($_);
    my $status = Mail::SpamAssassin::PerMsgStatus->new($filter, $mail);
    $status->extract_message_metadata();
    my $said = $bayes->scan($status, $mail);
    print defined $said ? $said : '-', "\n";
    $status->finish();
    $mail->finish();
}

sub message {
    my ($path) = @_;
    open(my $file, '<:raw', $path) or die "$path: $!";
    local $/;
    return $filter->parse(scalar <$file>);
}
