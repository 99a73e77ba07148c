// A farm made by the command line: what it prints, adds, renews and revokes, and what it leaves after an error.
#include <sys/stat.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/json.h"
#include "tests/catch.h"
#include "tests/process.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;

namespace {

class FarmFolder {
 public:
  Finished run(std::vector<std::string> options) const {
    options.insert(options.begin(), {"certificates", path()});
    return test::dovetail(options);
  }
  Json report(std::vector<std::string> options) const {
    options.push_back("--json");
    const Finished finished = run(options);
    INFO(finished.error);
    REQUIRE(finished.exit == 0);
    return parse_json(finished.out, "certificates").value();
  }
  std::string path() const { return outer_ / "farm"; }
  std::filesystem::path operator/(const std::string& name) const { return outer_ / "farm" / name; }

 private:
  test::TemporaryFolder outer_;
};

}  // namespace

TEST_CASE("certificates makes a farm and prints the next commands") {
  const FarmFolder farm;
  const Finished made = farm.run({"--queue", "lab.example.org,192.168.1.5", "--board", "pi4", "--board", "zynq",
                                  "--client", "alice:run-code", "--client", "bob:measure,admin"});
  INFO(made.error);
  REQUIRE(made.exit == 0);
  CHECK_THAT(made.out, ContainsSubstring("dovetail queue --certificates " + (farm / "queue").string()));
  CHECK_THAT(made.out, ContainsSubstring("dovetail serve ADDRESS --certificates zynq"));
  CHECK_THAT(made.out, ContainsSubstring("bob    measure,admin"));
  CHECK_THAT(made.out, ContainsSubstring("authority.key secret"));
  for (const char* name : {"queue", "pi4", "zynq", "alice", "bob"})
    for (const char* file : {"certificate.pem", "key.pem", "authority.pem"})
      CHECK(std::filesystem::is_regular_file(farm / name / file));

  const Json added = farm.report({"--board", "uno", "--days", "30"});
  REQUIRE(added["certificates"].size() == 6);
  CHECK(added["certificates"][5]["name"] == "uno");
  CHECK(added["certificates"][5]["made"] == true);
  CHECK(added["certificates"][4]["made"] == false);
  CHECK(added["certificates"][4]["roles"] == Json::array({"measure", "admin"}));
  CHECK(added["certificates"][5]["until"] < added["certificates"][4]["until"]);
}

TEST_CASE("certificates --revoke and --renew replace the certificate of a name") {
  const FarmFolder farm;
  const Json before = farm.report({"--client", "alice:measure"})["certificates"][0];
  const Finished refused = farm.run({"--client", "alice:measure"});
  CHECK(refused.exit == 2);
  CHECK_THAT(refused.error, ContainsSubstring("has a certificate already") && ContainsSubstring("--renew"));

  const Json after = farm.report({"--revoke", "alice", "--renew", "--client", "alice:run-code"})["certificates"];
  REQUIRE(after.size() == 2);
  CHECK(after[0]["fingerprint"] == before["fingerprint"]);
  CHECK(after[0]["state"] == "revoked");
  CHECK(after[1]["state"] == "valid");
  CHECK(after[1]["roles"] == Json::array({"run-code"}));
  CHECK_THAT(read_text_file(farm / "revoked.txt").value(),
             ContainsSubstring(before["fingerprint"].get<std::string>() + "  # alice"));
  CHECK(farm.report({})["certificates"][0]["state"] == "revoked");
}

TEST_CASE("certificates leaves nothing half made after an error") {
  const FarmFolder farm;
  CHECK(farm.run({"--board", "pi4", "--client", "a/b:measure"}).exit == 2);
  CHECK_FALSE(std::filesystem::exists(farm.path()));
  REQUIRE(farm.run({"--board", "pi4"}).exit == 0);
  const auto before = entries_of(farm.path());
  CHECK(farm.run({"--board", "new", "--board", "pi4"}).exit == 2);
  CHECK(entries_of(farm.path()) == before);
}

TEST_CASE("certificates: damaged files of a farm are named, and nothing is changed") {
  const FarmFolder farm;
  REQUIRE(farm.run({"--board", "pi4"}).exit == 0);
  for (const char* name : {"authority.pem", "authority.key", "issued.txt", "revoked.txt"}) {
    const std::string good = read_text_file(farm / name).value();
    for (const std::string& bad : {std::string("nonsense"), good.substr(good.size() / 2)}) {
      INFO(name);
      REQUIRE(write_text_file(farm / name, bad).ok());
      REQUIRE(::chmod((farm / name).c_str(), 0600) == 0);
      const Finished refused = farm.run({"--board", "new"});
      CHECK(refused.exit == 2);
      CHECK_THAT(refused.error, ContainsSubstring(name) && ContainsSubstring("Hint: "));
      CHECK_FALSE(std::filesystem::exists(farm / "new"));
    }
    REQUIRE(write_text_file(farm / name, good).ok());
    REQUIRE(::chmod((farm / name).c_str(), 0600) == 0);
  }
  CHECK(farm.run({"--board", "new"}).exit == 0);
}
